"""One prompt with documents in it: each under its number, between two lines that no document can forge.

Knows: how documents, citation instruction and question are put together, and where each text stands. Must not know: data
sets, corpora, models.

Evidence of a number is what stands between its heading and its closing line, exactly as it is sent (R): invisible
characters out, forged markup harmless (tools/shield.py). The mark of the first physical page stands before it; marks of
further pages stand inside, between the pages, as the model reads them (R). Title and URL are no evidence. Where only some
pages are shown, the URL of the evidence says which (`#page=3-5`), so that a record tells two parts of one file apart.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from sandbox.benchmarks.instruction import instruction_file, with_tags
from sandbox.sample import GivenPage
from sandbox.settings import CitationSettings
from tools.shield import neutralise
from tools.tool import Language


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A physical page: its number from 1 (None = the document has none) and its text."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as it goes into the prompt: `pages` in order, of `n_pages` in all (0 = it has no physical pages)."""

    number: int
    url: str
    title: str
    body_sha256: str | None
    pages: tuple[ShownPage, ...]
    n_pages: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """The user turn, and where each document's text stands in it."""

    turn: str
    given: tuple[GivenPage, ...]


class Words(BaseModel):
    """The templates of one language (instructions/documents.LANGUAGE.toml)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    document: str
    pages: str
    page_mark: str
    citation: str


def load_words(language: Language) -> Words:
    """The bundled templates."""
    return Words.model_validate(tomllib.loads(instruction_file(f"documents.{language}.toml")))


def documents_instruction(settings: CitationSettings, words: Words) -> str:
    """The citation instruction that stands in where a row brings none."""
    return with_tags(words.citation, settings)


def words_sha256(settings: CitationSettings, words: Words) -> str:
    """Hash of all that we put into the prompt ourselves; part of the provenance."""
    texts = (words.prompt, words.document, words.pages, words.page_mark, documents_instruction(settings, words))
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def documents_prompt(documents: Sequence[ShownDocument], instruction: str, question: str, words: Words) -> Prompt:
    """The prompt; `instruction` and `question` stand in it unchanged."""
    blocks = [_block(document, words) for document in documents]
    values = {"documents": JOINT.join(block.text for block in blocks), "instruction": instruction, "question": question}
    turn = _filled(words.prompt, values)
    given: list[GivenPage] = []
    at = turn.starts["documents"]
    for document, block in zip(documents, blocks, strict=True):
        start = at + block.starts["text"]
        end = start + block.lengths["text"]
        title = turn.text[at + block.starts["title"] :][: block.lengths["title"]]
        given.append(GivenPage(document.number, _with_pages(document), title, start, end, document.body_sha256))
        at += len(block.text) + len(JOINT)
    return Prompt(turn.text, tuple(given))


JOINT = "\n\n"
"""Between two documents."""


@dataclass(frozen=True, slots=True)
class _Filled:
    """A template with its values in it: where each begins, and how long it is."""

    text: str
    starts: Mapping[str, int]
    lengths: Mapping[str, int]


def _block(document: ShownDocument, words: Words) -> _Filled:
    texts = [harmless(page.text).strip("\n") for page in document.pages]
    shown = [page.number for page in document.pages if page.number is not None]
    head = ""
    if shown:
        head = words.pages.format(shown=_ranges(shown), total=document.n_pages)
        head += words.page_mark.format(page=shown[0])
    body = [texts[0]] if texts else []
    for page, text in zip(document.pages[1:], texts[1:], strict=True):
        body += [words.page_mark.format(page=page.number), text]
    title = " ".join(harmless(document.title).split()) or document.url
    return _filled(
        words.document,
        {
            "number": str(document.number),
            "title": title,
            "url": " ".join(harmless(document.url).split()),
            "pages": head,
            "text": "\n".join(body),
        },
    )


def harmless(text: str) -> str:
    """Page text as it is shown: shielded, and with nothing in it that could be a line of ours (〔資料 3 はじめ〕,
    【物理ページ 3】); such brackets become ‹ ›. What comes out is stable.
    """
    return _OURS.sub(_opened, neutralise(text).text)


_OURS = re.compile(r"[〔﹝❲⦗〘〚【〖]([^〔﹝❲⦗〘〚【〖〕﹞❳⦘〙〛】〗\n]+)[〕﹞❳⦘〙〛】〗]")
_OPENING_LINE = re.compile(r"\s*(?:資料|document)\s*[0-9]+\s*(?:はじめ|おわり|begins?|ends?)\s*")
_PAGE_MARK = re.compile(r"\s*(?:物理ページ|physical\s*page)\s*[0-9]+\s*")


def _opened(match: re.Match[str]) -> str:
    inner = unicodedata.normalize("NFKC", match[1]).casefold()
    ours = _OPENING_LINE.fullmatch(inner) or _PAGE_MARK.fullmatch(inner)
    return f"‹{match[1]}›" if ours else match[0]


_PLACE = re.compile(r"\{([a-z]+)\}")


def _filled(template: str, values: Mapping[str, str]) -> _Filled:
    """In one pass, so that braces inside a value stay what they are."""
    parts: list[str] = []
    starts: dict[str, int] = {}
    n_chars = done = 0
    for place in _PLACE.finditer(template):
        name, before = place[1], template[done : place.start()]
        starts.setdefault(name, n_chars + len(before))
        parts += [before, values[name]]
        n_chars += len(before) + len(values[name])
        done = place.end()
    parts.append(template[done:])
    return _Filled("".join(parts), starts, {name: len(values[name]) for name in starts})


def _with_pages(document: ShownDocument) -> str:
    shown = [page.number for page in document.pages if page.number is not None]
    if len(shown) == document.n_pages:
        return document.url
    joint = "&" if "#" in document.url else "#"
    return f"{document.url}{joint}page={_ranges(shown).replace('–', '-').replace(' ', '')}"


def _ranges(pages: Sequence[int]) -> str:
    """`3–5, 8` of 3, 4, 5, 8."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
