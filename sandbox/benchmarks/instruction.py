"""The citation instruction that stands in where a data row brings none: our own wording, in every dialect.

Knows: the templates. Must not know: how an answer is read (the tags come from the dialect).
"""

from __future__ import annotations

from importlib.resources import files

from citations.markup import TAGS, Dialect, plamo
from sandbox.settings import CitationSettings
from tools.tool import Language


def dialect_of(settings: CitationSettings) -> Dialect:
    """The markup that answers are read in."""
    if settings.dialect == "plamo":
        return plamo(settings.plamo_sentence, settings.plamo_cite)
    return TAGS


def citation_instruction(settings: CitationSettings, language: Language) -> str:
    """How the answer is to be written, with the dialect's own tags, where pages come from a search."""
    return with_tags(instruction_file(f"{language}.txt"), settings)


def instruction_file(name: str) -> str:
    """The text of a bundled template."""
    return files("sandbox.benchmarks").joinpath("instructions", name).read_text(encoding="utf-8")


def with_tags(text: str, settings: CitationSettings) -> str:
    """A template with the dialect's own tags in the place of `{sentence}`, `{cite}` and the like."""
    dialect = dialect_of(settings)
    for name, value in {
        "{sentence}": dialect.sentence_open,
        "{/sentence}": dialect.sentence_close,
        "{cite}": dialect.cite_open,
        "{/cite}": dialect.cite_close,
    }.items():
        text = text.replace(name, value)
    return text.rstrip("\n")
