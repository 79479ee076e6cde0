"""Every setting of a run: defaults as published, read from TOML, overridden by flags, written to run.toml.

Knows: names, defaults, ranges and their sources. Must not know: how a setting is used. Secrets are never settings:
only the *name* of the environment variable that holds a key is.

Defaults of `tmg-cqa-tool`: tmg_cqa publication, sections “生成” and “Appendix”. (R) marks our own reading.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal, Self, cast

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tools.tool import Language, SetupError

BASELINE, UNTIDY = "baseline", "baseline-untidy"
EMBEDDED = (BASELINE, UNTIDY)
"""The embedded models (the judge has the first name too); what they score compares with nothing published."""

DecodeField = Literal[
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"
]


class Settings(BaseModel):
    """Base of all settings groups: frozen; an unknown key is an error, so that a typing mistake cannot pass silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Decode(Settings):
    """Sampling as sent. A field named in `omit` is not sent at all (for servers that refuse it)."""

    temperature: float = Field(default=0.6, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    top_k: int = 20
    min_p: float = Field(default=0.0, ge=0, le=1)
    repetition_penalty: float = Field(default=1.0, gt=0)
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    omit: tuple[DecodeField, ...] = ()


class ModelSettings(Settings):
    """The model under test and how it is asked."""

    name: str = BASELINE
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    decode: Decode = Decode()
    max_output_tokens: int = Field(default=16_384, ge=1)
    """Per call, reasoning included."""
    max_output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    context_tokens: int = Field(default=262_144, ge=1)
    """Upper limit of input and output together (R: 256k = 262,144); the server's own maximum wins where it is smaller."""
    preserve_thinking: bool | None = None
    """Sent as `chat_template_kwargs.preserve_thinking`; None = on for Qwen models, as published."""
    extra_body: dict[str, object] = {}
    count_tokens: Literal["auto", "never"] = "never"
    """`auto`: a prompt without tools is counted by the server before it is sent, where the server does that exactly
    (vLLM, llama.cpp), so that an overflow costs no generation. Default `auto` where the prompt holds documents.
    """
    timeout_s: float = Field(default=1_800, gt=0)
    """Total time of one HTTP exchange: 16,384 tokens at 10 tokens/s are 27 minutes."""
    retries: int = Field(default=4, ge=0, le=20)
    """Further tries after a passing fault (429, 5xx, lost connection); deterministic errors are never tried again."""

    @property
    def sends_preserve_thinking(self) -> bool:
        """Whether `preserve_thinking` is asked for."""
        return "qwen" in self.name.lower() if self.preserve_thinking is None else self.preserve_thinking


class JudgeSettings(Settings):
    """The judge. Published: gemma-4-31b-it (BF16), temperature 0, thinking off, 2,048 output tokens."""

    name: str = BASELINE
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    max_output_tokens: int = Field(default=2_048, ge=1)
    max_output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    response_format: bool = True
    """Ask for verdicts by JSON schema; the whole-label reading stands behind it either way."""
    thinking: bool | Literal["unsaid"] = False
    """Sent as `chat_template_kwargs.enable_thinking`; `unsaid` = not sent, for servers that refuse the field."""
    language: Language = "ja"
    prompts: str | None = None
    """Folder with prompt files of your own."""
    criterion_prompt: str | None = None
    """The text of a prompt of your own for the one verdict (`--rubric FILE`): with it in the run a replay needs no file."""
    attempts: int = Field(default=3, ge=1, le=10)
    """Tries until a verdict can be read, all at temperature 0."""
    repeats: int = Field(default=1, ge=1, le=20)
    """How often each verdict is asked for, at the same settings; the first counts, the others measure the judge."""
    max_evidence_chars: int = Field(default=200_000, ge=1_000)
    extra_body: dict[str, object] = {}
    timeout_s: float = Field(default=600, gt=0)
    retries: int = Field(default=4, ge=0, le=20)
    concurrency: int = Field(default=32, ge=1)
    """Judge calls under way at once."""


class SearchSettings(Settings):
    """Where searches go. `local` also serves fetch and find from the corpus and never touches the network."""

    engine: Literal["local", "brave", "brave-sdk", "none"] = "brave"
    """`none`: a benchmark without tools."""
    corpus: str | None = None
    count: int = Field(default=10, ge=1, le=20)
    brave_key_env: str = "BRAVE_API_KEY"
    brave_base_url: str = "https://api.search.brave.com"
    brave_country: str = "JP"
    brave_search_lang: str = "jp"
    brave_ui_lang: str = "ja-JP"
    brave_safesearch: Literal["off", "moderate", "strict"] = "moderate"
    brave_interval_s: float = Field(default=1.1, ge=0)
    """Least time between two requests, all sessions together (free tier: 1.1)."""


class FetchSettings(Settings):
    """How pages are fetched and shown."""

    window_chars: int = Field(default=6_000, ge=500)
    """Characters of a page shown per fetch; the model continues with `start`."""
    timeout_s: float = Field(default=60, gt=0)
    max_body_bytes: int = Field(default=50_000_000, ge=1_000, le=500_000_000)
    robots: bool = True
    host_interval_s: float = Field(default=1.0, ge=0)
    domains: tuple[str, ...] = ()
    """Allowed domain suffixes; empty = all."""
    ports: tuple[int, ...] = (80, 443)
    allow_loopback: bool = False
    """Only for a corpus that you serve yourself."""


class Limits(Settings):
    """The agent loop's limits."""

    rounds: int = Field(default=30, ge=0)
    """Tool rounds; a round is one assistant message with at least one tool call (R)."""
    calls_per_round: int = Field(default=32, ge=1)
    """Calls beyond this in one message are answered with an error (R)."""
    on_tight_context: Literal["fail", "shrink"] = "fail"
    """`fail`: prompt + output limit over the context is a context overflow; `shrink`: the output limit is lowered (R)."""


class CitationSettings(Settings):
    """How answers are read and citations scored (scoring rules: citations.policy)."""

    dialect: Literal["tags", "plamo"] = "tags"
    """Not `longcite`: its cites name chunks of one document, so that each would be an unknown page and every F1 0."""
    plamo_sentence: str = "sentence"
    plamo_cite: str = "cite"
    unseen_fetch: Literal["unnumbered", "number", "refuse"] = "unnumbered"
    f1_only: bool = False


class Policies(Settings):
    """Where published tools differ on what counts (jmt-safety)."""

    no_answer: Literal["worst", "fail"] = "worst"
    """A dialogue that brought no last reply: counted as harmful, or left out and named."""
    refusal: Literal["apart", "worst"] = "apart"
    """A dialogue that the API refused to continue: left out and counted apart, or counted as harmful."""


class RunSettings(Settings):
    """Everything that a run is made of."""

    benchmark: str
    data: str | None = None
    fields: str | None = None
    responses: str | None = None
    """File of answers that exist already: they are judged, and nothing is generated."""
    rubric: str | None = None
    """The user's own rubric file, where a benchmark reads one with its data (jmt-safety)."""
    limit: int | None = Field(default=None, ge=1)
    repeats: int = Field(default=1, ge=1)
    concurrency: int = Field(default=32, ge=1)
    language: Language = "ja"
    model: ModelSettings = ModelSettings()
    judge: JudgeSettings = JudgeSettings()
    search: SearchSettings = SearchSettings()
    fetch: FetchSettings = FetchSettings()
    limits: Limits = Limits()
    citations: CitationSettings = CitationSettings()
    policies: Policies = Policies()

    @model_validator(mode="after")
    def _no_key_in_a_url(self) -> Self:
        for url in (self.model.base_url, self.judge.base_url, self.search.brave_base_url):
            if url and ("@" in url.split("://", 1)[-1].split("/", 1)[0] or "?" in url):
                # What it holds would be written to run.toml and every tape, where nobody knows it for a key.
                raise ValueError(
                    "a base URL must not hold a name, a key or a query (?…): a key belongs into the variable of api_key_env"
                )
        return self

    @model_validator(mode="after")
    def _local_needs_corpus(self) -> Self:
        bundled = self.benchmark == "sample" or (self.data or "").startswith("mini:")
        if self.search.engine == "local" and not self.search.corpus and not bundled:
            raise ValueError("--search local needs --corpus DIR (build one: pincite corpus build MANIFEST --out DIR)")
        return self


Overrides = dict[str, object]
"""Dotted setting names and values, as flags give them: {"model.name": "qwen"}."""


def resolve(
    benchmark: str, defaults: Overrides, file: Path | None, flags: Overrides, base: Path | None = None
) -> RunSettings:
    """Settings of a run: the benchmark's defaults, then `base` (the run.toml of another run), then the TOML file, then the
    flags. Raises SetupError.
    """
    tree: dict[str, object] = {"benchmark": benchmark}
    for name, value in defaults.items():
        _put(tree, name, value)
    for one in (base, file):
        if one is not None:
            _merge(tree, _read_toml(one))
    if benchmark:
        tree["benchmark"] = benchmark
    for name, value in flags.items():
        if value is not None:
            _put(tree, name, value)
            _send(tree, name)
    for role in ("model", "judge"):
        if flags.get(f"{role}.name") in EMBEDDED and not flags.get(f"{role}.base_url"):
            # The server that a file names is that of another model.
            _put(tree, f"{role}.base_url", None)
    try:
        return RunSettings.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise SetupError(f"there is no setting {where}; the run.toml of any run names all of them") from error
        said = "expected a table" if first["type"] == "model_type" else str(first["msg"]).removeprefix("Value error, ")
        raise SetupError(f"setting {where}: {said}" if where else said) from error


def servers_named(file: Path | None, flags: Overrides) -> tuple[str, ...]:
    """The servers that a settings file and the flags name. Raises SetupError."""
    tree: dict[str, object] = {} if file is None else _read_toml(file)
    for name, value in flags.items():
        if value is not None:
            _put(tree, name, value)
    groups = (cast("dict[str, object]", group) for group in tree.values() if isinstance(group, dict))
    urls = (group.get(field) for group in groups for field in ("base_url", "brave_base_url"))
    return tuple(url for url in urls if isinstance(url, str))


def _send(tree: dict[str, object], name: str) -> None:
    """A sampling field that a flag sets is sent, though the benchmark's defaults leave it to the server."""
    group, _, field = name.rpartition(".")
    if group != "model.decode":
        return
    decode = cast("dict[str, dict[str, dict[str, object]]]", tree)["model"]["decode"]
    omitted = decode.get("omit")
    if isinstance(omitted, list | tuple) and field in omitted:
        decode["omit"] = [one for one in cast("list[str]", omitted) if one != field]


def file_name(name: str) -> str:
    """A model's name as a part of a file name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "model"


def as_toml(settings: RunSettings) -> str:
    """The resolved settings as TOML; None is left out (TOML has no null)."""
    return tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))


def _read_toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(f"cannot read the settings file {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SetupError(f"{file} is not valid TOML: {error}") from error


def _put(tree: dict[str, object], name: str, value: object) -> None:
    *groups, leaf = name.split(".")
    for group in groups:
        inner = tree.setdefault(group, {})
        if not isinstance(inner, dict):
            raise SetupError(f"setting {group}: expected a table")
        tree = cast(dict[str, object], inner)
    tree[leaf] = value


def _merge(tree: dict[str, object], new: dict[str, object]) -> None:
    for key, value in new.items():
        old = tree.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(cast(dict[str, object], old), cast(dict[str, object], value))
        else:
            tree[key] = value
