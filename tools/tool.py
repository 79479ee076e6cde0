"""What a tool is: arguments that pydantic checks, a description that the model reads, a result that knows its pages.

Knows: the protocol between the agent loop and a tool. Must not know: models, benchmarks, how a page gets its number.

The loop numbers pages, not the tools: parallel calls finish in any order, and numbers follow the order of the calls.
So a tool returns what it saw (`ToolResult.seen`), the loop records it in the ledger, and asks the result for the text
with the numbers that came out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticSerializationError

from citations.model import PageView

Language = Literal["ja", "en"]

Traffic = Literal["search", "page"]
"""What kind of outside traffic a tool makes; recordings keep the kinds apart."""

FailureKind = Literal[
    "bad_arguments", "unknown_tool", "unknown_page", "refused", "blocked", "not_found", "http_error", "network_error",
    "timeout", "too_large", "unsupported_type", "empty", "needs_js", "frameset", "too_complex", "encrypted",
    "undecodable", "engine_error", "rate_limited",
]  # fmt: skip


class SetupError(Exception):
    """Something must be mended before a run can start or go on; the message says what and how. Exit code 2."""


class ToolFailure(Exception):
    """A tool call that failed: one line for the model. It adds no citation number and no evidence."""

    def __init__(self, kind: FailureKind, message: str, url: str | None = None) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message
        self.url = url
        """The page that could not be had, where the call was about one: the ledger counts its failed observations."""


class Arguments(BaseModel):
    """Base of every tool's arguments: unknown keys are an error that the model can mend, never ignored. So is half a
    character (a lone surrogate: an emoji cut in the middle), which no tape and no index can hold.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _in_whole_characters(self) -> Self:
        try:
            self.model_dump_json()
        except PydanticSerializationError as error:
            raise ValueError("half a character (a lone surrogate) / 壊れた文字が含まれています") from error
        return self


class PageNumbers(Protocol):
    """What a tool may ask about pages already numbered (the ledger answers)."""

    def url_of(self, number: int) -> str | None:
        """The URL under which page `number` was first shown, or None if no page has that number."""
        ...

    def may_open(self, url: str) -> bool:
        """False where the run refuses to open pages that no search has shown."""
        ...


class ToolResult(Protocol):
    """A successful call. `seen` in the order in which pages are to be numbered."""

    @property
    def seen(self) -> tuple[PageView, ...]:
        """The pages that this call showed, each with the evidence pieces shown of it."""
        ...

    def text(self, numbers: Sequence[int | None]) -> str:
        """What the model reads; `numbers[i]` is the citation number of `seen[i]`, None where it has none."""
        ...


class Tool(Protocol):
    """A tool as the loop sees it."""

    @property
    def name(self) -> str:
        """The function name in the tool schema."""
        ...

    @property
    def description(self) -> str:
        """Written for the model, in the benchmark's language; part of the recorded schema hash."""
        ...

    @property
    def traffic(self) -> Traffic:
        """What its calls ask the outside for."""
        ...

    @property
    def arguments(self) -> type[Arguments]:
        """The pydantic model of the arguments; its JSON schema is what the model gets."""
        ...

    async def call(self, arguments: Arguments, pages: PageNumbers) -> ToolResult:
        """Do it. Raises ToolFailure, and nothing else, for whatever the outside world may do."""
        ...
