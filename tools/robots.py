"""What a robots.txt allows us (RFC 9309).

Knows: the text of a robots.txt and our name. Must not know: how it was fetched. The standard library's parser is not
used: it takes the first rule that matches where the standard wants the longest, and knows neither `*` nor `$`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

MAX_ROBOTS_CHARS = 512 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line; `pattern` normalised, `*` and a last `$` with their meaning."""

    allow: bool
    pattern: str


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for us. No rules = everything is allowed."""

    rules: tuple[Rule, ...] = ()

    def allow(self, target: str) -> bool:
        """True if `target` (path and query as requested) may be fetched: the longest matching rule decides, and of two
        equally long ones the one that allows. robots.txt itself is always allowed.
        """
        path = _normal(target)
        if path == "/robots.txt":
            return True
        matching = [rule for rule in self.rules if _matches(rule.pattern, path)]
        return max(matching, key=lambda rule: (len(rule.pattern), rule.allow)).allow if matching else True


def parse_robots(text: str, agent: str) -> Robots:
    """The rules of the groups that name `agent` (a product token, no version), else of the groups for `*`."""
    groups = list(_groups(text[:MAX_ROBOTS_CHARS].removeprefix("\ufeff")))
    own = [rule for group in groups if agent.lower() in group.agents for rule in group.rules]
    if own or any(agent.lower() in group.agents for group in groups):
        return Robots(tuple(own))
    return Robots(tuple(rule for group in groups if "*" in group.agents for rule in group.rules))


@dataclass(frozen=True, slots=True)
class _Group:
    agents: frozenset[str]
    rules: tuple[Rule, ...]


def _groups(text: str) -> Iterator[_Group]:
    agents: list[str] = []
    rules: list[Rule] = []
    in_rules = False
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if in_rules:
                yield _Group(frozenset(agents), tuple(rules))
                agents, rules, in_rules = [], [], False
            agents.append(value.lower().partition("/")[0])
        elif key in ("allow", "disallow"):
            in_rules = True
            if value:
                rules.append(Rule(key == "allow", _normal(value)))
    yield _Group(frozenset(agents), tuple(rules))


def _normal(path: str) -> str:
    """Percent-encoding as in the standard: what may stand plain stands plain, the rest is %XX in upper case."""
    return quote(unquote_to_bytes(path.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/?&=*$:;,@!'()+~%")


def _matches(pattern: str, path: str) -> bool:
    anchored = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for piece in pieces[:-1] if anchored else pieces:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if not anchored:
        return True
    if not pieces:
        return at == len(path)
    return len(path) - at >= len(pieces[-1]) and path.endswith(pieces[-1])
