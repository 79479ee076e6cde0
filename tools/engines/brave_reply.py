"""What a reply of the Brave web-search API says: hits, or which fault it is and who has to mend it.

Knows: the shape of the replies, as documented and as recorded. Must not know: requests, keys, retries, clocks.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ValidationError

from citations.ledger import page_identity
from citations.policy import Policy
from tools.search import Hit

FaultKind = Literal[
    "key", "plan", "quota", "address", "setting", "query", "burst", "server", "timeout", "network", "unreachable"
]

# Windows from an hour upwards are quotas: nobody wants a run that sleeps until next month.
QUOTA_WINDOW_S = 3600
# A plan of one request a second counts on arrival: one second to the millisecond is a coin toss.
BURST_WAIT_S = 1.1


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request gave no hits. `wait_s` is set where the server said how long to stay away."""

    kind: FaultKind
    detail: str
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class RateWindow:
    """One window of the plan: `limit` requests in `window_s` seconds (0 = no limit), full again in `reset_s`."""

    window_s: int
    limit: int
    remaining: int
    reset_s: float

    @property
    def is_used_up(self) -> bool:
        """True where the window has a limit and nothing of it is left."""
        return self.limit > 0 and self.remaining <= 0


# Merges only what is one page under every policy; what the run's own policy merges besides, its ledger does.
_STRICTEST = Policy(fragment="keep", http_is_https=False)


def read_hits(body: object, count: int) -> list[Hit]:
    """At most `count` hits of a decoded 200 reply, in its order, each page once; [] where there is no `web`.

    Only `description` carries entities and `<strong>`; titles and extra snippets are page text as they stand.
    """
    reply = _WebReply.model_validate(_object(body))
    hits: dict[str, Hit] = {}
    for item in reply.web.results:
        result = _Result.model_validate(item)
        if result.url.startswith(("http://", "https://")):
            hits.setdefault(page_identity(result.url, _STRICTEST), _hit(result))
    return list(hits.values())[:count]


def split_joints(text: str) -> list[str]:
    """The stretches of page text in one of Brave's snippets: ` · ` and ` ... ` join what is apart in the page."""
    return [piece for piece in (part.strip() for part in _JOINT.split(text)) if piece]


def clean_description(text: str) -> str:
    """A description without its highlighting, entities decoded once: `&lt;b&gt;` is page text and stays `<b>`."""
    return _ENTITY.sub(lambda entity: html.unescape(entity.group()), _STRONG.sub("", text))


def read_windows(headers: Mapping[str, str]) -> tuple[RateWindow, ...]:
    """The windows of the `X-RateLimit-*` headers, matched by their `w=`; those that cannot be read are left out."""
    policies = _entries(headers, "x-ratelimit-policy")
    limits, remaining, resets = (
        [_number(entry) for entry in _entries(headers, name)]
        for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
    )
    windows: list[RateWindow] = []
    for policy, limit, left, reset_s in zip(policies, limits, remaining, resets, strict=False):
        width = re.search(r";\s*w=(\d+)", policy)
        if width and limit is not None and left is not None and reset_s is not None:
            window_s = int(width[1])
            # A reset beyond its own window cannot be true (a proxy that turned it into a date, say).
            windows.append(RateWindow(window_s, int(limit), int(left), min(reset_s, float(window_s))))
    return tuple(windows)


def read_fault(status: int, headers: Mapping[str, str], body: object) -> Fault:
    """Which fault a reply other than 200 is. Codes as observed: a bad key is 422, not 401, at this API."""
    error = _read_error(body)
    said = f"HTTP {status}" + (f" {error.code}" if error.code else "") + (f": {error.detail}" if error.detail else "")
    if status in (401, 403) or error.code.startswith("SUBSCRIPTION_TOKEN") or "x-subscription-token" in error.places:
        return Fault("key", said)
    if error.code == "OPTION_NOT_IN_PLAN":
        return Fault("plan", said)
    if status in (402, 429):
        return _limit_fault(status, said, error, headers)
    if status >= 500:
        return Fault("server", said)
    if status in (400, 422):
        names = [place for place in error.places if place not in ("query", "header", "body")]
        said += f" ({', '.join(names)})" if names else ""
        return Fault("setting" if names and not set(names) & {"q", "offset"} else "query", said)
    return Fault("address", said)


def _limit_fault(status: int, said: str, error: _Error, headers: Mapping[str, str]) -> Fault:
    windows = read_windows(headers)
    gone = [window for window in windows if window.window_s >= QUOTA_WINDOW_S and window.is_used_up]
    if gone:
        window = max(gone, key=lambda each: each.reset_s)
        return Fault("quota", f"{said} ({window.limit} requests in {window.window_s} s)", window.reset_s)
    if status == 402 or error.meta.is_used_up or "QUOTA" in error.code:
        return Fault("quota", said)
    asked_s = _retry_after_s(headers)
    if asked_s >= QUOTA_WINDOW_S:
        return Fault("quota", said, asked_s)
    short = [window for window in windows if window.window_s < QUOTA_WINDOW_S]
    waited_for = [window for window in short if window.is_used_up] or short
    reset_s = max((window.reset_s for window in waited_for), default=0.0)
    return Fault("burst", said, max(BURST_WAIT_S, reset_s + 0.1, asked_s))


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """What a proxy in between says, which knows no windows; 0 where it says nothing, or a date."""
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() else 0.0


def _hit(result: _Result) -> Hit:
    snippets = split_joints(clean_description(result.description))
    for extra in result.extra_snippets:
        snippets += split_joints(extra)
    # The date before the "3 days ago", which means another day whenever it is read.
    return Hit(result.url, result.title, tuple(dict.fromkeys(snippets)), result.page_age or result.age or None)


# A cut mark that stands apart at an end ("training, ...") is no page text either; "進めて..." may be the page's own.
_JOINT = re.compile(r" · | \.\.\. |^\.\.\. | \.\.\.$")
_STRONG = re.compile(r"</?strong>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _entries(headers: Mapping[str, str], name: str) -> list[str]:
    return [entry.strip() for entry in headers.get(name, "").split(",")]


def _number(entry: str) -> float | None:
    try:
        value = float(entry)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _text(value: object) -> str:
    """Whatever is no string is nothing; half an emoji (a string cut in the middle) becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", value) if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in map(_text, _list(value)) if text)


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class _Result(BaseModel):
    url: Text = ""
    title: Text = ""
    description: Text = ""
    extra_snippets: Texts = ()
    age: Text = ""
    page_age: Text = ""


class _Web(BaseModel):
    results: Annotated[list[Annotated[object, BeforeValidator(_object)]], BeforeValidator(_list)] = []


class _WebReply(BaseModel):
    web: Annotated[_Web, BeforeValidator(_object)] = _Web()


class _BadParameter(BaseModel):
    loc: tuple[str | int, ...] = ()


class _Meta(BaseModel):
    quota_limit: int | None = None
    quota_current: int | None = None
    errors: tuple[_BadParameter, ...] = ()

    @property
    def is_used_up(self) -> bool:
        return bool(self.quota_limit) and (self.quota_current or 0) >= (self.quota_limit or 0)


class _Error(BaseModel):
    code: Text = ""
    detail: Text = ""
    meta: Annotated[_Meta, BeforeValidator(_object)] = _Meta()

    @property
    def places(self) -> list[str]:
        """Where the request did not please, flattened: `["query", "search_lang"]`."""
        return [str(step) for bad in self.meta.errors for step in bad.loc]


def _read_error(body: object) -> _Error:
    """The error of an ErrorResponse, which comes as `error` in practice and as a list `errors` in the documentation."""
    reply = _object(body)
    listed = _list(reply.get("errors"))
    found = reply.get("error") or (listed[0] if listed else None)
    try:
        error = _Error.model_validate(_object(found))
    except ValidationError:
        return _Error()
    return error.model_copy(update={"detail": " ".join(error.detail.split())})
