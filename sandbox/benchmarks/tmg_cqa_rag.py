"""tmg_cqa, RAG version: several documents with their numbers, a citation instruction and a question in one prompt.

Source: the tmg_cqa publication (「RAG版とTool版」「データセットの構築方法」). One call, no tools; document numbers and
physical pages are those of the row. The data set brings no bodies: `pincite corpus fetch` gets them beforehand.

Evidence of a number = the physical pages that the row lists for it, all of the document where it lists none (R). A
document without physical pages (HTML) is one page. A question that lacks a document is left out and counted, as published;
so is one of which a listed page is not there any more, or all pages listed for a document have no text (R).
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.benchmarks.benchmark import Benchmark, Loaded, PublishedForm, SourceResolver
from sandbox.benchmarks.documents_prompt import (
    ShownDocument,
    ShownPage,
    Words,
    documents_instruction,
    documents_prompt,
    load_words,
    words_sha256,
)
from sandbox.benchmarks.sample import MANIFEST
from sandbox.fetching.links import LinkRow, page_of, read_links
from sandbox.loading.locate import MINI, located
from sandbox.loading.questions import Question, load_rows, read_field_map
from sandbox.loading.source_list import SourceDocument
from sandbox.measuring.measures import ANSWER_AND_CITATIONS
from sandbox.reports.untrusted import one_line
from sandbox.sample import Gold, Sample, Script
from sandbox.settings import RunSettings
from tools.corpus import Corpus, build, open_corpus
from tools.document import Document
from tools.extract import extract
from tools.tool import FailureKind, SetupError

Reason = Literal["no_document", "dead_link", "not_fetched", "not_in_corpus", "no_text", "missing_page"]
"""Why a question cannot be asked: its row names no document; a document is not to be had; it did not come this time, or we
would not take it; nobody knows of its having been asked for; it, or the pages listed, have no text; a page is gone."""

NOT_ITS_FAULT: frozenset[FailureKind] = frozenset({"timeout", "rate_limited", "too_large", "blocked", "refused"})
"""Failures that say nothing of whether the link is alive: a share of dead links must not hold them."""


def load(settings: RunSettings, _resolver: SourceResolver | None) -> Loaded:
    """The questions of `settings.data` with the documents of `settings.search.corpus` in their prompts.

    `mini:` rows without a corpus get the bundled documents. Raises SetupError for everything that is wrong with either,
    and where no question is left.
    """
    if settings.data is None:
        raise SetupError("tmg-cqa-rag needs the question file: --data PATH (JSON Lines, JSON or Parquet), or --mini")
    fields = read_field_map(Path(settings.fields)) if settings.fields else None
    found = located(settings.data)
    dataset = load_rows(found.path, fields)
    if not any(question.documents for question in dataset.rows):
        raise SetupError(
            f"{dataset.path}: no question names a document; say in a field map (--fields) which column does: "
            '`sources = "COLUMN"`'
        )
    words = load_words(settings.language)
    instruction = documents_instruction(settings.citations, words)
    samples: list[Sample] = []
    lost: list[_Lost] = []
    with _library(settings) as library:
        for question in dataset.rows:
            documents = library.documents(question)
            if isinstance(documents, _Lost):
                lost.append(documents)
            else:
                samples.append(_sample(question, documents, instruction, words))
        digest = library.corpus.digest
    if not samples:
        raise SetupError(
            f"no question of {dataset.path} has all of its documents in the corpus ({lost[0].line}); "
            f"fetch them: pincite corpus fetch --data {settings.data} --out DIR, then --corpus DIR"
        )
    return Loaded(
        samples=tuple(samples),
        path=found.source,
        n_rows=dataset.n_rows,
        sha256=dataset.sha256,
        unused=dataset.unused,
        left_out=dict(sorted(Counter[str](one.reason for one in lost).items())),
        left_out_lines=tuple(one.line for one in lost),
        notes=_notes(lost, dataset.n_rows),
        facts={"corpus": digest, "prompt": words_sha256(settings.citations, words)},
    )


def _notes(lost: Sequence[_Lost], n_rows: int) -> tuple[str, ...]:
    if not lost:
        return ()
    return (
        f"{len(lost)} of {n_rows} questions are left out for want of a document; left-out.txt in the run folder says why",
    )


def _sample(question: Question, documents: tuple[ShownDocument, ...], instruction: str, words: Words) -> Sample:
    prompt = documents_prompt(documents, question.citation_instruction or instruction, question.question, words)
    return Sample(
        id=question.id,
        question=question.question,
        script=Script(turns=(prompt.turn,), tools=False, given=prompt.given),
        gold=Gold(question.reference),
        task_type=question.task_type,
    )


@dataclass(frozen=True, slots=True)
class _Lost:
    """A question that cannot be asked, and a line for people that says why."""

    reason: Reason
    line: str


@dataclass(frozen=True, slots=True)
class _Library:
    """Where bodies are. `links`: what `pincite corpus fetch` noted of each page, where it made the corpus."""

    corpus: Corpus
    links: Mapping[str, LinkRow]

    def documents(self, question: Question) -> tuple[ShownDocument, ...] | _Lost:
        """All documents of the question, in its order, or the first that is to blame."""
        if not question.documents:
            return _Lost("no_document", one_line(f"{question.id}: no_document: its row names none"))
        found: list[ShownDocument] = []
        for wanted in question.documents:
            document = self._document(wanted.url)
            shown = self._unreachable(wanted.url) if document is None else _shown(wanted, document)
            if isinstance(shown, _Lost):
                line = f"{question.id}: {shown.reason}: document {wanted.number}, {wanted.url}: {shown.line}"
                return _Lost(shown.reason, one_line(line))
            found.append(shown)
        return tuple(found)

    def _document(self, url: str) -> Document | None:
        url = self.corpus.url_of(url) or url
        return self.corpus.document(url) or self.corpus.document(url.partition("#")[0])

    def _unreachable(self, url: str) -> _Lost:
        row = self.links.get(page_of(url))
        if row is None or row.failure is None:
            # A corpus of other questions, or of the first N: that says nothing of the link.
            return _Lost("not_in_corpus", "not in the corpus, and not asked for by `pincite corpus fetch`")
        ours = row.failure.kind in NOT_ITS_FAULT
        reason: Reason = "no_text" if row.status == "unreadable" else "not_fetched" if ours else "dead_link"
        return _Lost(reason, f"{row.failure.kind}: {row.failure.message} ({row.checked_at})")


def _shown(wanted: SourceDocument, document: Document) -> ShownDocument | _Lost:
    starts, text = document.page_starts, document.text
    pages: tuple[ShownPage, ...]
    if not starts:
        if wanted.pages not in ((), (1,)):
            return _Lost("missing_page", f"physical pages {_listed(wanted)} of a document that has none")
        pages = (ShownPage(None, text),)
    else:
        last = wanted.pages[-1] if wanted.pages else len(starts)
        if last > len(starts):
            return _Lost("missing_page", f"physical page {last} of {len(starts)}")
        ends = (*starts[1:], len(text))
        numbers = wanted.pages or range(1, len(starts) + 1)
        pages = tuple(ShownPage(number, text[starts[number - 1] : ends[number - 1]]) for number in numbers)
    if not any(page.text.strip() for page in pages):
        return _Lost("no_text", f"no text on physical pages {_listed(wanted)}" if wanted.pages else "no text")
    title = wanted.title or document.title
    return ShownDocument(wanted.number, document.url, title, document.body_sha256, pages, len(starts))


def _listed(wanted: SourceDocument) -> str:
    return ", ".join(map(str, wanted.pages[:20]))


@contextmanager
def _library(settings: RunSettings) -> Generator[_Library]:
    """The corpus that the run names; for bundled rows the bundled documents, built anew (a third of a second)."""
    if settings.search.corpus:
        folder = Path(settings.search.corpus)
        with _opened(folder) as corpus:
            links = read_links(folder if folder.is_dir() else folder.parent)
            yield _Library(corpus, {page_of(url): row for url, row in links.items()})
    elif (settings.data or "").startswith(MINI):
        with tempfile.TemporaryDirectory(prefix="pincite-") as made:
            build(MANIFEST, Path(made), extract=extract)
            with _opened(Path(made)) as corpus:
                yield _Library(corpus, {})
    else:
        raise SetupError(
            f"tmg-cqa-rag needs the documents of {settings.data}: pincite corpus fetch --data {settings.data} --out DIR, "
            "then --corpus DIR"
        )


@contextmanager
def _opened(folder: Path) -> Generator[Corpus]:
    corpus = open_corpus(folder)
    try:
        yield corpus
    finally:
        corpus.close()


BENCHMARK = Benchmark(
    name="tmg-cqa-rag",
    version="1",
    about="tmg_cqa RAG version: complex Japanese questions over given documents, answered with cited sentences",
    defaults={"search.engine": "none", "model.count_tokens": "auto"},
    load=load,
    measures=lambda _: ANSWER_AND_CITATIONS,
    mini={"data": "mini:tmg_cqa_rag.jsonl"},
    published=PublishedForm(("consistency", "citation_f1"), "gemma-4-31b-it"),
)
