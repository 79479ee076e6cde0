"""Secrets never reach a disk, a log or an error text.

Knows: the secret values of this process and the forms in which they travel. Must not know: where they come from (the
caller reads the environment) or which header they sit in.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MARK = "***"

MIN_SECRET_CHARS = 6
"""Shorter values ("x", "EMPTY"[:4]) are placeholders; striking them out would tear words apart."""


class Redactor:
    """Finds and strikes out a fixed set of secrets, in plain text and as they look when URL-encoded, JSON-escaped,
    base64-encoded (`Authorization: Basic`) or wrapped by `repr`.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {secret.strip() for secret in secrets}
        forms = {form for value in values if len(value) >= MIN_SECRET_CHARS for form in _forms(value)}
        # Longest first: a secret that contains another one goes as a whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._texts = tuple(ordered)
        # An environment value that is not UTF-8 reaches Python with lone surrogates; its bytes are looked for too.
        self._bytes = tuple(form.encode("utf-8", "surrogatepass") for form in ordered)
        self._pattern = re.compile("|".join(map(re.escape, ordered)))

    def redact(self, text: str) -> str:
        """`text` with every form of every secret replaced by `***`; the same object where there is none."""
        # The pattern is slow and a secret is rare: plain searches, which run at memory speed, go first.
        return self._pattern.sub(MARK, text) if self.holds_secret(text) else text

    def holds_secret(self, data: bytes | str) -> bool:
        """True if any form of any secret stands in `data`."""
        if isinstance(data, str):
            return any(form in data for form in self._texts)
        return any(form in data for form in self._bytes)


def _forms(secret: str) -> set[str]:
    utf8 = secret.encode("utf-8", "surrogatepass")
    forms = {secret, quote(utf8, safe=""), quote(utf8), quote_plus(utf8)}
    forms |= {_lower_escapes(form) for form in forms}
    for escaped in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)):
        forms.add(escaped[1:-1])
    # Base64 of a longer text shows the secret at one of three alignments; the characters at the seams that also hold
    # bits of a neighbour are cut off.
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + utf8).decode("ascii").rstrip("=")
        start = (0, 2, 3)[shift]
        spare = 0 if (shift + len(utf8)) % 3 == 0 else 1
        inner = encoded[start : len(encoded) - spare]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms


def _lower_escapes(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda escape: escape[0].lower(), text)
