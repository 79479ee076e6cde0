from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassettes.redact import Redactor

KEY = "sk-東京/Ab+9=\"z'é"


@pytest.mark.parametrize(
    "carrier",
    [
        KEY,
        f"Authorization: Bearer {KEY}",
        urlencode({"q": "子育て", "key": KEY}),
        f"https://api.example.jp/{quote(KEY)}/x",
        "https://api.example.jp/" + re.sub("%..", lambda escape: escape[0].lower(), quote(KEY, safe="")) + "/x",
        json.dumps({"token": KEY}),
        json.dumps({"token": KEY}, ensure_ascii=False),
        repr({"token": KEY}),
        "Basic " + base64.b64encode(f"user:{KEY}".encode()).decode(),
        "Basic " + base64.b64encode(f"{KEY}:".encode()).decode(),
        "Basic " + base64.b64encode(f"ab:{KEY}:c".encode()).decode(),
        base64.urlsafe_b64encode(f"a{KEY}b".encode()).decode(),
    ],
)
def test_every_form_in_which_a_secret_travels_is_found_and_struck_out(carrier: str) -> None:
    redactor = Redactor([KEY])
    cleaned = redactor.redact(carrier)
    assert "***" in cleaned
    assert not redactor.holds_secret(cleaned)
    assert redactor.holds_secret(carrier)
    assert redactor.holds_secret(carrier.encode())


def test_the_rest_of_the_line_stays_readable() -> None:
    redactor = Redactor(["BSA-secret-0001", "sk-secret-0002"])
    line = "GET /search?q=東京&key=BSA-secret-0001 → 401 (sk-secret-0002 を確認)"
    assert redactor.redact(line) == "GET /search?q=東京&key=*** → 401 (*** を確認)"


def test_a_secret_that_contains_another_one_goes_as_a_whole() -> None:
    assert Redactor(["secret", "secret-and-more"]).redact("x secret-and-more y secret z") == "x *** y *** z"


def test_placeholders_and_empty_values_are_not_secrets() -> None:
    redactor = Redactor(["", "x", "EMPTY", "      "])
    assert redactor.redact("x EMPTY      ") == "x EMPTY      "
    assert not redactor.holds_secret("x EMPTY")
    assert not redactor.holds_secret(b"x EMPTY")


def test_bytes_that_are_no_text_can_be_searched() -> None:
    redactor = Redactor(["sk-secret-0002"])
    assert redactor.holds_secret(b"\xff\x00sk-secret-0002\x80")
    assert not redactor.holds_secret(b"\xff\x00sk-secret-0003\x80")


# A secret with the mark's own stars in it could grow together again from its neighbours.
SECRETS = st.text(st.characters(exclude_characters="*"), min_size=6, max_size=40).map(str.strip)


@given(SECRETS.filter(lambda text: len(text) >= 6), st.text(max_size=9), st.text(max_size=9))
def test_no_secret_survives_redaction(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    text = f"{before}{secret}{after}"
    assert redactor.holds_secret(text)
    assert not redactor.holds_secret(redactor.redact(text))
