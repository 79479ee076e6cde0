"""The judge's prompts: text files with named places, filled so that no value can pass for a part of the prompt.

Knows: where prompt files lie, which places each needs, how a value is made harmless. Must not know: models, how a
verdict is read, what a judgement counts.

A prompt file is UTF-8 text. `{evidence}`, `{question}`, `{sentence}`, `{answer}`, `{reference}`, `{criterion}` and
`{dialogue}` stand for values; all other braces are plain text. Ours keep each value in a block of lines

    <<<EVIDENCE
    {evidence}
    EVIDENCE>>>

and put the evidence before whatever differs between two calls that share it, so that a server's prefix cache reads a
page once: `support` and `relevance` are the same text down to the end of the question. Wordings that are not ours may
keep values between tags (the published one of MultiChallenge: `<MODEL_RESPONSE>`): no value can write these either.

Lines like `#label full = Fully supported` at the head of a file are not sent. They say which word the prompt asks for
in place of our label, for wordings that are not ours.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tools import shield
from tools.tool import Language, SetupError

PLACES: Mapping[str, tuple[str, ...]] = {
    "support": ("evidence", "question", "sentence"),
    "relevance": ("evidence", "question", "sentence"),
    "need": ("question", "answer", "sentence"),
    "consistency": ("question", "reference", "answer"),
    "criterion": ("answer", "criterion"),
    "safety": ("criterion", "dialogue"),
}
"""The values that each prompt is filled with; every one must have its place in the file."""

BLOCKS = ("EVIDENCE", "QUESTION", "SENTENCE", "ANSWER", "REFERENCE", "CRITERION", "DIALOGUE")
LABEL_MARK = "#label"


def either_width(word: str) -> str:
    """A pattern of the word whose letters are ASCII or full-width, each on its own."""
    return "".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)


_PLACE = re.compile(r"\{(" + "|".join(BLOCKS).lower() + r")\}")
_NAME = "(?:" + "|".join(either_width(name) for name in BLOCKS) + ")"
_OPENING = re.compile(rf"[<＜﹤]{{3}}(?=\s{{0,8}}{_NAME})", re.IGNORECASE)
_THREE_SIGNS = re.compile("[>＞﹥]{3}")
_CLOSING = re.compile(rf"({_NAME}\s{{0,8}})[>＞﹥]{{3}}", re.IGNORECASE)
_OWN_TAG = re.compile(r"</?([A-Za-z][\w.:-]*)(?:[ \t][^<>{}\n]*)?>")
_ANY_TAG = re.compile(r"[<＜﹤]\s{0,8}[/／]?\s{0,8}([\w.:：-]{1,100}+)[^<＜﹤>＞﹥]{0,200}[>＞﹥]")


@dataclass(frozen=True, slots=True)
class Filled:
    """A prompt ready to be sent. `n_forged` = delimiters and special tokens in the values that were made harmless."""

    text: str
    n_forged: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file. `sha256` (hex) is over the whole file with `\\n` line ends.

    `words` are pairs of our label and the word that this prompt asks for instead; empty where it asks for our labels.
    """

    name: str
    language: Language
    text: str
    sha256: str
    words: tuple[tuple[str, str], ...] = ()

    def fill(self, values: Mapping[str, str]) -> Filled:
        """The text with every place filled, in one pass: nothing inside a value is read as a place.

        `values` must hold every place that the prompt names. Only what could pass for markup changes in them
        (`harmless`).
        """
        n_forged = 0
        safe: dict[str, str] = {}
        tags = frozenset(map(_folded, _OWN_TAG.findall(self.text)))
        for name, value in values.items():
            safe[name], n = harmless(value, tags)
            n_forged += n
        return Filled(_PLACE.sub(lambda place: safe[place[1]], self.text), n_forged)


def harmless(value: str, tags: Collection[str] = ()) -> tuple[str, int]:
    """The value with nothing in it that could end its block or the judge's turn, and how many such things there were.

    Tags, special tokens and invisible characters go as in tool results (`tools.shield`): servers read special tokens
    inside a message too. The marks of a block delimiter, in either width, are set apart by spaces. `tags`: names, folded,
    of the tags that the prompt itself is built with; they go like the others.
    """
    clean = shield.neutralise(value)
    text, n_opening = _OPENING.subn("< < <", clean.text)
    # The pattern begins with a name, which is slow to look for; three signs in a row are rare and quick to find.
    text, n_closing = _CLOSING.subn(r"\1> > >", text) if _THREE_SIGNS.search(text) else (text, 0)
    text, n_tags = _without_tags(text, tags) if tags else (text, 0)
    return text, clean.n + n_opening + n_closing + n_tags


def _without_tags(text: str, tags: Collection[str]) -> tuple[str, int]:
    n = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal n
        if _folded(match[1]) not in tags:
            return match[0]
        n += 1
        return f"‹{match[0][1:-1].strip()}›"

    return _ANY_TAG.sub(replaced, text), n


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def load_prompt(name: str, language: Language, folder: Path | None = None) -> Prompt:
    """The prompt `NAME.LANGUAGE.txt`: the user's, where their folder has it, else ours.

    Raises SetupError where the folder or the file cannot be read, a place is missing or has no value, or the folder
    holds this prompt only under another name (another language).
    """
    if name not in PLACES:
        raise SetupError(f"there is no prompt called {name}; known: {', '.join(PLACES)}")
    file_name = f"{name}.{language}.txt"
    own = _own_file(name, file_name, folder) if folder is not None else None
    if own is None:
        body = resources.files("sandbox.judging").joinpath("prompts", file_name).read_bytes()
        return _read(name, language, body, file_name)
    try:
        return _read(name, language, own.read_bytes(), str(own))
    except OSError as error:
        raise SetupError(f"cannot read the prompt {own}: {error.strerror}") from error


def prompt_of_text(name: str, language: Language, text: str) -> Prompt:
    """A prompt whose wording the user gives as a text. Raises SetupError as `load_prompt` does.

    Where it has no place by name but as many bare `{}` as the prompt has places, these stand for them in the order of
    `PLACES`: the published prompt of MultiChallenge has one for the answer and then one for the question.
    """
    places = PLACES[name]
    if not _PLACE.search(text) and text.count("{}") == len(places):
        for place in places:
            text = text.replace("{}", "{" + place + "}", 1)
    return _read(name, language, text.encode(), "of your own")


def _own_file(name: str, file_name: str, folder: Path) -> Path | None:
    """The user's file; None where they leave this prompt to us. A folder that cannot be meant like that is an error."""
    if not folder.is_dir():
        raise SetupError(f"the prompt folder {folder} is not a folder")
    if (folder / file_name).exists():
        return folder / file_name
    found = sorted(path.name for path in folder.glob("*.txt"))
    known = {f"{other}.{language}.txt" for other in PLACES for language in ("ja", "en")}
    near = [other for other in found if other.startswith(f"{name}.")]
    if near or not known.intersection(found):
        raise SetupError(
            f"the prompt folder {folder} holds {', '.join(near or found) or 'no .txt file'}, but no {file_name}; "
            f"prompt files are called NAME.LANGUAGE.txt, with NAME one of {', '.join(PLACES)}"
        )
    return None


def _read(name: str, language: Language, body: bytes, where: str) -> Prompt:
    try:
        # Line ends and a byte-order mark depend on the editor, not on the wording: the hash must not.
        whole = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise SetupError(f"the prompt {where} is not UTF-8 (at byte {error.start}); save it as UTF-8") from error
    words, text = _split_labels(whole, where)
    present = set(_PLACE.findall(text))
    missing = [place for place in PLACES[name] if place not in present]
    if missing:
        places = ", ".join("{" + place + "}" for place in missing)
        raise SetupError(f"the prompt {where} has no place for {places}")
    foreign = sorted(present.difference(PLACES[name]))
    if foreign:
        places = ", ".join("{" + place + "}" for place in foreign)
        raise SetupError(f"the prompt {where} asks for {places}, which a {name} judgement does not have")
    return Prompt(name, language, text, hashlib.sha256(whole.encode()).hexdigest(), words)


def _split_labels(whole: str, where: str) -> tuple[tuple[tuple[str, str], ...], str]:
    words: list[tuple[str, str]] = []
    rest = whole
    while rest.startswith(LABEL_MARK):
        line, _, rest = rest.partition("\n")
        label, equals, word = (part.strip() for part in line.removeprefix(LABEL_MARK).partition("="))
        if not (label and equals and word):
            raise SetupError(f"the prompt {where}: {line!r} should read `{LABEL_MARK} LABEL = WORD`")
        words.append((label, word))
    return tuple(words), rest
