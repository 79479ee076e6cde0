"""No key to a server that only a recorded run names.

Knows: which settings name a server and which variable holds its key. Must not know: how a run is played.

A run folder can come from a stranger, and its run.toml names the judge's server, and the variable whose value is sent
there. A command that goes on from such a folder sends a key only where the user has named the server too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address

import httpx2

from sandbox.assemble import Reach
from sandbox.settings import RunSettings, SearchSettings
from tools.tool import SetupError


def check_servers(
    settings: RunSettings, named: Collection[str], reach: Collection[Reach], environ: Mapping[str, str]
) -> None:
    """Raises SetupError where a key of `environ` would go to a server that is none of `named`, over what may be reached.

    A server on this machine is the user's own, and Brave's address is known.
    """
    model, judge, search = settings.model, settings.judge, settings.search
    brave = None if search.brave_base_url == SearchSettings().brave_base_url else search.brave_base_url
    _check("model" in reach, model.base_url, model.api_key_env, "--base-url URL", named, environ)
    _check("judge" in reach, judge.base_url, judge.api_key_env, "--judge-base-url URL", named, environ)
    _check("web" in reach, brave, search.brave_key_env, "--set search.brave_base_url=URL", named, environ)


def _check(
    asked: bool, url: str | None, variable: str, option: str, named: Collection[str], environ: Mapping[str, str]
) -> None:
    if asked and url is not None and url not in named and environ.get(variable) and not _is_here(url):
        raise SetupError(
            f"the key in {variable} would go to {url}, which only the recorded run names: "
            f"say {option.replace('URL', url)} if it may, or unset {variable}"
        )


def _is_here(url: str) -> bool:
    try:
        host = httpx2.URL(url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx2.InvalidURL, ValueError):
        return False
