"""The Brave web-search engine: our own small client on the run's HTTP client.

Knows: what is sent, how often, and how long a limit is waited for. Must not know: tapes, citation numbers, other
engines.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import httpx2
from pydantic import JsonValue

from tools.engines.brave_reply import Fault, read_fault, read_hits
from tools.pace import Clock
from tools.search import Hit
from tools.tool import FailureKind, Language, SetupError, ToolFailure

MAX_COUNT = 20
MAX_PAGE = 10
MAX_QUERY_CHARS = 400
MAX_QUERY_WORDS = 50

_SAID_CHARS = 240
KEY_MARK = "***"
"""What stands for the key in what the model reads: a tape strikes it out with the same sign. As the key of an engine that
is only played, it changes no text at all.
"""

# Brave's codes are its own: `ja` gets a 422, and zh wants its script.
_SEARCH_LANG = {"ja": "jp", "zh": "zh-hans"}


class Bucket(Protocol):
    """What all sessions with one key share, so that they keep its limit together (`tools.pace.TokenBucket`)."""

    @property
    def clock(self) -> Clock:
        """The clock on whose scale `penalise` counts, in seconds."""
        ...

    async def acquire(self) -> None:
        """Return when a request may leave."""
        ...

    def penalise(self, until_s: float) -> None:
        """Let no request leave before `until_s`."""
        ...


@dataclass(frozen=True, slots=True)
class Unpaced:
    """The bucket of a replay: the tape answers at once, also where the recorded run had to wait."""

    clock: Clock = time.monotonic

    async def acquire(self) -> None:
        """Return at once."""

    def penalise(self, until_s: float) -> None:
        """Wait for nothing."""


@dataclass(frozen=True, slots=True)
class BraveSettings:
    """What a Brave search depends on besides the query.

    `base_url` is what stands before `/res/v1` (with it is fine too), `search_lang` ISO 639-1 or one of Brave's own
    codes, `language` that of the failures that the model reads. The bucket is the caller's: the free plan's one request
    a second is counted on arrival, so 1.1 s apart.
    """

    base_url: str = "https://api.search.brave.com"
    country: str = "JP"
    search_lang: str = "ja"
    ui_lang: str = "ja-JP"
    safesearch: Literal["off", "moderate", "strict"] = "moderate"
    extra_snippets: bool = True
    language: Language = "ja"
    timeout_s: float = 20.0
    max_attempts: int = 5

    def sent(self) -> dict[str, str]:
        """The parameters that are the same in every request, as sent.

        Spelling off, else the altered query is what is searched; only web results; no highlighting in the text.
        """
        return {
            "country": self.country,
            "search_lang": _SEARCH_LANG.get(self.search_lang, self.search_lang),
            "ui_lang": self.ui_lang,
            "safesearch": self.safesearch,
            "text_decorations": "false",
            "spellcheck": "false",
            "result_filter": "web",
            "extra_snippets": "true" if self.extra_snippets else "false",
        }

    def facts(self, engine: str) -> dict[str, JsonValue]:
        """What the provenance says of a search through `engine`: where it goes and what is sent with every query."""
        return {"engine": engine, "base_url": self.base_url, **self.sent()}


class BraveEngine:
    """`tools.search.SearchEngine` over the Brave API."""

    name = "brave"

    def __init__(self, client: httpx2.AsyncClient, settings: BraveSettings, key: str, pace: Bucket) -> None:
        """Raises SetupError for a key that cannot be one."""
        self._settings = settings
        self._api = BraveApi(client, settings, key, pace)

    async def search(self, query: str, count: int, page: int) -> list[Hit]:
        """At most `count` hits of result page `page`. Result pages overlap; each page of the web comes once in one.

        Raises ToolFailure (bad_arguments, engine_error, rate_limited, timeout, network_error) and, where no later
        search can do better (key, plan, quota, settings), SetupError.
        """
        check_request(query, count, page, self._settings.language)
        # `offset` counts result pages, not results.
        params = {"q": query, "count": str(count), "offset": str(page - 1), **self._settings.sent()}
        return read_hits(await self._api.get(params), count)


def check_request(query: str, count: int, page: int, language: Language) -> None:
    """Raises ToolFailure("bad_arguments") with help for what the API would refuse, before it costs a request."""
    n_chars, n_words = len(query), len(query.split())
    if not 1 <= count <= MAX_COUNT:
        raise SetupError(
            f"Brave gives 1 to {MAX_COUNT} hits a result page, not {count}: set a number of hits in that range."
        )
    if n_words == 0:
        said = {"ja": "検索語が空です。", "en": "The query is empty."}
    elif n_chars > MAX_QUERY_CHARS or n_words > MAX_QUERY_WORDS:
        said = {
            "ja": f"検索語が長すぎます（{n_chars}文字・{n_words}語。上限{MAX_QUERY_CHARS}文字・{MAX_QUERY_WORDS}語）。"
            "重要な語だけに絞ってください。",
            "en": f"The query is too long ({n_chars} characters, {n_words} words; at most {MAX_QUERY_CHARS} and "
            f"{MAX_QUERY_WORDS}). Keep the words that matter.",
        }
    elif any("\ud800" <= char <= "\udfff" for char in query):
        said = {"ja": "検索語に壊れた文字が含まれています。", "en": "The query holds a broken character."}
    elif not 1 <= page <= MAX_PAGE:
        said = {
            "ja": f"result_page は 1–{MAX_PAGE} です（指定: {page}）。検索語を変えてください。",
            "en": f"result_page is 1–{MAX_PAGE} ({page} was asked for). Change the query instead.",
        }
    else:
        return
    raise ToolFailure("bad_arguments", said[language])


class BraveApi:
    """Bounded, paced requests to one endpoint; every fault becomes a SetupError or a ToolFailure."""

    def __init__(self, client: httpx2.AsyncClient, settings: BraveSettings, key: str, pace: Bucket) -> None:
        """Raises SetupError for a key or a base URL that cannot be one."""
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise SetupError(
                "The Brave key is empty or holds characters that no key has: set BRAVE_API_KEY to the key alone, "
                "without quotes, spaces or line ends."
            )
        if not settings.base_url.startswith(("http://", "https://")):
            raise SetupError(
                f"The Brave engine's base_url must begin with http:// or https://, not {settings.base_url!r}."
            )
        self._client = client
        self._settings = settings
        self._key = key
        self._pace = pace
        self._url = settings.base_url.rstrip("/").removesuffix("/res/v1") + "/res/v1/web/search"

    async def get(self, params: Mapping[str, str]) -> dict[str, object]:
        """The decoded JSON object of a 200 reply to `params`."""
        fault = Fault("server", "no attempt was made")
        for attempt in range(1, self._settings.max_attempts + 1):
            await self._pace.acquire()
            reply = await self._exchange(params)
            if not isinstance(reply, Fault):
                return reply
            fault = reply
            if fault.kind in _STOP:
                said = self._quotable(fault.detail)
                raise SetupError(_STOP[fault.kind].format(said=said, when=_when(fault.wait_s)))
            if fault.kind == "query":
                break
            # The pace does the waiting: all sessions stay away together, and a replay waits for nothing.
            wait_s = fault.wait_s if fault.wait_s is not None else float(2 ** (attempt - 1))
            self._pace.penalise(self._pace.clock() + wait_s)
        if fault.kind == "unreachable":
            # No search of any session can do better: going on would score every answer without its sources.
            raise SetupError(
                f"Brave cannot be reached at {self._url} ({self._quotable(fault.detail)}): check the network. "
                "The same command then continues the run."
            )
        kind, message = _FAILURE[fault.kind]
        raise ToolFailure(kind, message[self._settings.language].format(said=self._quotable(fault.detail)))

    async def _exchange(self, params: Mapping[str, str]) -> dict[str, object] | Fault:
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "X-Subscription-Token": self._key}
        try:
            # A total deadline: httpx2's own timeout starts again with every byte.
            async with asyncio.timeout(self._settings.timeout_s):
                response = await self._client.get(self._url, params=params, headers=headers, follow_redirects=False)
        except (TimeoutError, httpx2.TimeoutException):
            return Fault("timeout", f"{self._settings.timeout_s:g} s")
        except httpx2.ConnectError as error:
            return Fault("unreachable", str(error) or type(error).__name__)
        except httpx2.RequestError as error:
            return Fault("network", type(error).__name__)
        except httpx2.InvalidURL as error:
            return Fault("address", f"{error}")
        body = _decode(response.content)
        if response.status_code != 200:
            return read_fault(response.status_code, response.headers, body)
        if not isinstance(body, dict) or "error" in body:
            return Fault("server", "HTTP 200 without a JSON result")
        return cast("dict[str, object]", body)

    def _quotable(self, said: str) -> str:
        """A server may quote the request that it refuses, key and all; the key goes before the text is cut."""
        return said.replace(self._key, KEY_MARK)[:_SAID_CHARS]


_STOP: dict[str, str] = {
    "key": "Brave refused the key ({said}): check BRAVE_API_KEY and that its subscription is for web search.",
    "plan": "Brave's plan of this key lacks something that we ask for ({said}): take a plan with it, or set "
    "extra_snippets = false (another setting, so another result).",
    "quota": "Brave's quota of this key is used up ({said}); {when}. The same command then continues the run; or use a "
    "larger plan, or --search local.",
    "setting": "Brave refused a setting of ours ({said}): mend country, search_lang, ui_lang, safesearch or the number "
    "of hits in the settings of the Brave engine.",
    "address": "That is no Brave web-search API ({said}): check base_url in the settings of the Brave engine.",
}

_FAILURE: dict[str, tuple[FailureKind, dict[Language, str]]] = {
    "query": (
        "engine_error",
        {
            "ja": "検索エンジンがこちらの要求を受け付けませんでした（検索語ではなく本システムの不具合です。{said}）。",
            "en": "The search engine refused our request (a fault of this system, not of your query; {said}).",
        },
    ),
    "burst": (
        "rate_limited",
        {
            "ja": "検索回数の制限中です（{said}）。しばらくしてから試してください。",
            "en": "The search engine is limiting requests ({said}). Try again later.",
        },
    ),
    "server": (
        "engine_error",
        {
            "ja": "検索エンジンの障害です（{said}）。同じ検索を後で試すか、別の検索語にしてください。",
            "en": "The search engine failed ({said}). Try again later or with another query.",
        },
    ),
    "timeout": (
        "timeout",
        {"ja": "検索エンジンが応答しません（{said}）。", "en": "The search engine did not answer ({said})."},
    ),
    "network": (
        "network_error",
        {"ja": "検索エンジンに接続できません（{said}）。", "en": "The search engine cannot be reached ({said})."},
    ),
}


def _decode(content: bytes) -> object:
    """The JSON value, None where there is none (a proxy's HTML page, half a reply, a thousand brackets)."""
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value


def _when(wait_s: float | None) -> str:
    if wait_s is None:
        return "the dashboard says when it is full again"
    span = f"{wait_s / 86400:.1f} days" if wait_s >= 86400 else f"{wait_s / 3600:.1f} hours"
    return f"it is full again in {span}"
