"""An HTTP error that a script stored where the model's answer belongs.

Knows: the forms in which Python clients write a failed exchange. Must not know: who stored it, or what it counts as.

Seen in public files: `Error: 400 Client Error: Bad Request for url: http://localhost:6767/v1/chat/completions` as the
“answer” to seven dialogues that were longer than the model's context (requests' `raise_for_status`).
"""

from __future__ import annotations

import re

_RAISED = r"(?:[\w.]*(?:Error|Exception): ?){0,3}"
"""`Error: `, `requests.exceptions.HTTPError: `: what a script or a traceback puts in front."""
_REQUESTS = r"[45]\d\d (?:Client|Server) Error: [^\n]{0,200}? for url: \S+"
_HTTPX = (
    r"(?:Client|Server) error '[45]\d\d [^'\n]{0,200}' for url '[^'\s]+'"
    r"(?:\nFor more information check: \S+)?"
)
_OPENAI = r"Error code: [45]\d\d - \{.*\}"
_WHOLE = re.compile(rf"{_RAISED}(?:{_REQUESTS}|{_HTTPX}|{_OPENAI})", re.DOTALL)


def is_error_text(text: str) -> bool:
    """True where the whole text, white space around it aside, is one HTTP error message as a client library writes it.

    Three forms, each with an optional `SomeError: ` in front: requests (`400 Client Error: Bad Request for url: URL`),
    httpx (`Client error '400 Bad Request' for url 'URL'`, with or without its second line) and openai
    (`Error code: 400 - {…}`). One more word before or behind makes it an answer that speaks of an error, which is judged
    like any other; so is a short or odd answer (`No`).
    """
    return _WHOLE.fullmatch(text.strip()) is not None
