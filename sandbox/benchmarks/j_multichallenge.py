"""J-MultiChallenge: MultiChallenge in Japanese, with a label for what cannot be answered from the dialogue alone.

Source: SB Intuitions' article on J-MultiChallenge (data: hf:sbintuitions/J-MultiChallenge), sections 2.3 and 3.1. 273
dialogues in MultiChallenge's form; 53 of them need knowledge from outside. (R) marks our own reading.

- The score is the pass rate over all questions, mean of three runs; the article calls it YES rate, all criteria being YES
  (R: over all questions and not by axis; all twenty published values are k/819). The mean of the axes, which is
  MultiChallenge's own score, stands beside it.
- Three runs are three sessions a question and their mean, not attempts of which one may pass.
- Sampling is not published: no sampling field is sent, so the model's own defaults hold (R). Output limit 16,384 tokens,
  reasoning included (R).
- Judge: gpt-oss-120b, which reasons before its verdict: at most 8,192 tokens (R).
"""

from __future__ import annotations

from sandbox.benchmarks import multichallenge
from sandbox.benchmarks.benchmark import Benchmark, PublishedForm
from sandbox.measuring.measures import Measure, Measures, criterion_value
from sandbox.settings import RunSettings


def measures(_: RunSettings) -> Measures:
    """The rate over all questions and runs, then the unweighted mean of the axes' rates."""
    return (
        Measure("pass_rate", "Pass rate, all questions", "Pass (all)", criterion_value, rate=True, headline=True),
        Measure("axis_mean", "Pass rate, mean of the axes", "Pass (axes)", criterion_value, rate=True, average="types"),
    )


BENCHMARK = Benchmark(
    name="j-multichallenge",
    version="1",
    about="J-MultiChallenge: the last turn of a Japanese dialogue, decided by one yes/no question",
    defaults={
        "repeats": 3,
        "search.engine": "none",
        "language": "ja",
        "judge.language": "ja",
        "judge.max_output_tokens": 8_192,
        "judge.thinking": "unsaid",
        "model.decode.omit": ("temperature", *multichallenge.NOT_SENT),
    },
    load=multichallenge.load,
    measures=measures,
    judgements=("criterion",),
    type_name="axis",
    mini={"data": "mini:j_multichallenge.jsonl"},
    published=PublishedForm(("pass_rate", "axis_mean"), "gpt-oss-120b", thinking=True, fraction=True),
)
