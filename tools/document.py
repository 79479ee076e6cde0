"""A document as the fetch and find tools see it, and where documents come from.

Knows: extracted text with its physical pages. Must not know: how it was downloaded or extracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Document:
    """Extracted text of one page of the web or of a corpus.

    `page_starts[i]` is the offset in `text` at which physical page i + 1 (of a PDF) begins; empty where there are no
    physical pages. `body_sha256` is hex over the bytes as received (decoded from their transfer encoding). `engine`
    names extractor and version. `notes` are lines for the model (a soft 404, a scanned physical page without text).
    """

    url: str
    final_url: str
    title: str
    media_type: str
    text: str
    body_sha256: str
    engine: str
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class PageSource(Protocol):
    """Where fetch and find get their documents: the guarded web, or a local corpus that never touches the network."""

    async def get(self, url: str) -> Document:
        """The document at `url`. Raises ToolFailure for everything that can go wrong."""
        ...
