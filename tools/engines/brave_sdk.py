"""The Brave engine through the `brave-search` package, for who wants that package in the loop.

Knows: how to put our request in the place of the package's own. Must not know: what `tools.engines.brave` knows
already.

The package (0.1.8) opens an HTTP client for every call, sleeps on any error, and its response models refuse incomplete
results. So only its base client is used, only `_get` is overridden, and the raw JSON is taken.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import httpx2

from tools.engines.brave import BraveApi, BraveSettings, Bucket, check_request
from tools.engines.brave_reply import read_hits
from tools.search import Hit
from tools.tool import SetupError

INSTALL = (
    "The engine brave-sdk needs the package brave-search, whose pins conflict with those of this project's tests: "
    "install it with pip install 'pincite[brave-sdk]' (in a checkout: uv sync --no-default-groups --extra brave-sdk), "
    "or use --search brave, which needs no package."
)

Param = str | int | bool


class BraveSdkEngine:
    """`tools.search.SearchEngine`; the package checks and names the parameters, transport and pace are ours."""

    name = "brave-sdk"

    def __init__(self, client: httpx2.AsyncClient, settings: BraveSettings, key: str, pace: Bucket) -> None:
        """Raises SetupError where the package is missing, or for a key or base URL that cannot be one."""
        self._settings = settings
        self._sdk = _sdk_client(BraveApi(client, settings, key, pace), key)

    async def search(self, query: str, count: int, page: int) -> list[Hit]:
        """As `BraveEngine.search`."""
        check_request(query, count, page, self._settings.language)
        sent = self._settings.sent()
        body = await self._sdk.search(
            query,
            country=sent["country"],
            search_lang=sent["search_lang"],
            ui_lang=sent["ui_lang"],
            count=count,
            offset=page - 1,
            safesearch=sent["safesearch"],
            text_decorations=False,
            spellcheck=False,
            result_filter=sent["result_filter"],
            extra_snippets=self._settings.extra_snippets,
            raw=True,
        )
        return read_hits(body, count)


@dataclass(frozen=True, slots=True)
class _Pending:
    """What the package takes for a response. It looks at the status and hands on `json()`: here, something to await."""

    body: Awaitable[dict[str, object]]
    status_code: int = 200

    def json(self) -> Awaitable[dict[str, object]]:
        return self.body


class _SdkClient(Protocol):
    """What we use of `brave.client.BraveAPIClient`."""

    def search(
        self,
        q: str,
        *,
        country: str,
        search_lang: str,
        ui_lang: str,
        count: int,
        offset: int,
        safesearch: str,
        text_decorations: bool,
        spellcheck: bool,
        result_filter: str,
        extra_snippets: bool,
        raw: Literal[True],
    ) -> Awaitable[dict[str, object]]: ...


def _sdk_client(api: BraveApi, key: str) -> _SdkClient:
    try:
        package = importlib.import_module("brave.client")
    except ImportError as error:
        raise SetupError(INSTALL) from error

    class PacedBrave(package.BraveAPIClient):  # type: ignore[misc, name-defined]
        def _get(self, params: Mapping[str, Param]) -> _Pending:
            return _Pending(api.get({name: _as_sent(value) for name, value in params.items()}))

    return cast("_SdkClient", PacedBrave(api_key=key))


def _as_sent(value: Param) -> str:
    """As the package's own HTTP client would write it in a URL."""
    return str(value).lower() if isinstance(value, bool) else str(value)
