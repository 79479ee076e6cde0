"""The readings of the benchmark that its publication leaves open, as one value.

Knows: every rule that the original evaluator may turn out to have decided otherwise. Must not know: how a rule is
carried out. The defaults are what this project scores with; "publication" is the tmg_cqa article.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Policy:
    """One named field for each reading; two runs with different policies cannot be compared."""

    fragment: Literal["drop", "keep"] = "drop"
    """Page identity. The publication speaks of "the same page" only; `keep` is for corpora whose documents differ by
    URL fragment alone."""

    http_is_https: bool = True
    """Page identity. Not in the publication: a page is the same page over http and over https."""

    unseen_fetch: Literal["unnumbered", "number", "refuse"] = "unnumbered"
    """A fetch of a page that no search has shown. Publication: numbers go to pages that appear in search results, and
    nothing is said of others; so the text is shown, without number and evidence. `number` gives it the next number,
    `refuse` does not open it."""

    all_unknown_recall: Literal["zero", "need"] = "zero"
    """A sentence whose citations all lack evidence. Publication: such a citation is 0 in precision; recall is not
    mentioned. `zero` asks no judge; `need` treats the sentence as if it cited nothing."""

    partly_unknown_support: Literal["valid_evidence", "zero"] = "valid_evidence"
    """A sentence with some citations without evidence. Not in the publication: support is judged on the evidence there
    is. `zero` gives it 0 in recall, unasked."""

    repeated_number: Literal["each", "once"] = "each"
    """A number cited twice in a sentence. Publication: precision is the mean over the single citations; so each counts,
    as in LongBench-Cite."""

    missing_verdict: Literal["zero", "drop"] = "zero"
    """F1 of an answer that lacks a verdict. Publication: only context overflow leaves the F1 denominator. `drop` leaves
    the answer out, as LongBench-Cite does."""

    generation_failed: Literal["zero", "drop"] = "zero"
    """F1 of an answer that was never written. Publication: it is not left out; its value is not said."""
