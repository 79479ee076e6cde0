"""Which page has which citation number, and what was seen of it.

Knows: when two URLs are one page, the order of first appearance in search results, evidence per number. Must not know:
tools, models, judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from citations.model import Evidence, LedgerPage, PageView, Piece, ViewKind
from citations.policy import Policy

EVIDENCE_JOINT = "\n\n"
"""What stands between two pieces of evidence where they are joined, within a page and between pages."""


@dataclass(slots=True)
class _Page:
    number: int
    url: str
    title: str
    aliases: list[str] = field(default_factory=list[str])
    evidence: dict[Piece, ViewKind] = field(default_factory=dict[Piece, ViewKind])
    n_failed: int = 0


class Ledger:
    """The pages of one question. Views go in in the order of the *calls*, whatever finished first.

    A page gets the next number, from 1, with the first search view of it, and keeps it. Source: tmg_cqa publication,
    "RAG version and Tool version"; what it leaves open is decided by `policy`.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._pages: dict[int, _Page] = {}
        self._number_by_identity: dict[str, int] = {}
        self._identities: dict[str, str] = {}

    def record(self, view: PageView) -> int | None:
        """The citation number of the page shown; None where it has none (then nothing of it is kept).

        Search and given views number a new page; fetch and find views of one go by `policy.unseen_fetch`. The URL after
        a redirect becomes an alias of the page. Where both URLs have numbers already, the two pages turn out to be one:
        each URL keeps the number it had first, and the view belongs to the URL that was opened, because that is the
        number the model was shown with it. A page without number that redirects to a numbered one is that one.
        """
        number = self.number_of(view.url)
        if number is None and view.final_url is not None:
            number = self.number_of(view.final_url)
        if number is None:
            if view.kind in ("fetch", "find") and self._policy.unseen_fetch != "number":
                return None
            number = self._add(max(self._pages, default=0) + 1, view.url, view.title)
        page = self._pages[number]
        page.title = page.title or view.title
        for url in (view.url, view.final_url):
            if url is not None and self._identity(url) not in self._number_by_identity:
                self._number_by_identity[self._identity(url)] = number
                page.aliases.append(url)
        _keep(page, view.kind, view.pieces)
        return number

    def given(self, number: int, url: str, title: str, pieces: Iterable[Piece] = ()) -> None:
        """Fill in a page beforehand, under the number it has in the prompt (RAG version).

        Two numbers may share a URL, because documents may be parts of one file: `pieces` go to `number`, and the URL
        stands for the first of them. Raises ValueError for a number below 0 or one that is taken.
        """
        if number < 0:
            raise ValueError(f"a citation number cannot be negative: {number}")
        if number in self._pages:
            raise ValueError(f"citation number {number} is taken by {self._pages[number].url}")
        self._add(number, url, title)
        _keep(self._pages[number], "given", pieces)

    def failed(self, url: str) -> None:
        """Count a failed call. It adds no number and no evidence; on an unknown page it leaves no trace."""
        number = self.number_of(url)
        if number is not None:
            self._pages[number].n_failed += 1

    def url_of(self, number: int) -> str | None:
        """The URL under which page `number` was first shown, or None if no page has that number."""
        page = self._pages.get(number)
        return page.url if page else None

    def number_of(self, url: str) -> int | None:
        """The number of the page at `url`, by any of its spellings and aliases; None where it has none."""
        return self._number_by_identity.get(self._identity(url))

    def may_open(self, url: str) -> bool:
        """False where the policy refuses to open pages that no search has shown."""
        return self._policy.unseen_fetch != "refuse" or self.number_of(url) is not None

    def pages(self) -> tuple[LedgerPage, ...]:
        """All numbered pages, by number."""
        return tuple(
            LedgerPage(
                number=page.number,
                url=page.url,
                title=page.title,
                aliases=tuple(page.aliases),
                evidence=tuple(Evidence(kind, piece) for piece, kind in page.evidence.items()),
                n_failed=page.n_failed,
            )
            for _, page in sorted(self._pages.items())
        )

    def evidence(self) -> Mapping[int, str | None]:
        """What the judge reads, per number: the pieces in order of first sight, each text once.

        None = the number was given, but every observation failed or was empty. Blank text is evidence (it is judged).
        """
        return {
            number: EVIDENCE_JOINT.join(dict.fromkeys(piece.text for piece in page.evidence)) or None
            for number, page in sorted(self._pages.items())
        }

    def _add(self, number: int, url: str, title: str) -> int:
        self._pages[number] = _Page(number, url, title)
        self._number_by_identity.setdefault(self._identity(url), number)
        return number

    def _identity(self, url: str) -> str:
        identity = self._identities.get(url)
        if identity is None:
            identity = self._identities[url] = page_identity(url, self._policy)
        return identity


def _keep(page: _Page, kind: ViewKind, pieces: Iterable[Piece]) -> None:
    for piece in pieces:
        if piece.text:
            page.evidence.setdefault(piece, kind)


_PARTS = re.compile(  # RFC 3986, appendix B: every part may be absent, and together they take any text
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_PORT = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*):(?P<port>[0-9]*)")
_DEFAULT_PORT = {"http": "80", "https": "443"}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TO_NORMALISE = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]")


def page_identity(url: str, policy: Policy) -> str:
    """The same string for all URLs that are one page; never raises, and leaves its own results as they are.

    Fragment dropped (by policy), scheme and host in lower case, default port dropped, http read as https (by policy),
    the slash of an otherwise empty path dropped, percent-encoding normalised (RFC 3986, 6.2.2; what may not stand in a
    URL is encoded as UTF-8). The query keeps its order. What is no absolute URL (the id of a document) stays as it is,
    but for the fragment.
    """
    url = url.strip()
    parts = _PARTS.fullmatch(url)
    if parts is None:  # cannot happen, see _PARTS
        return url
    fragment = parts["fragment"] if policy.fragment == "keep" else None
    if parts["scheme"] is None:
        return (url if fragment else url.removesuffix(parts["fragment"] or "")).rstrip()
    scheme = parts["scheme"].lower()
    authority, path = parts["authority"], parts["path"]
    if authority is not None:
        authority = _authority(authority, scheme)
        path = "" if path == "/" else path
    return "".join(
        (
            "https:" if scheme == "http" and policy.http_is_https else f"{scheme}:",
            "" if authority is None else f"//{authority}",
            _percent_normalised(path),
            _percent_normalised(parts["query"] or ""),
            f"#{_percent_normalised(fragment[1:])}" if fragment else "",
        )
    )


def _authority(authority: str, scheme: str) -> str:
    """User information as it stands, host in lower case, the scheme's own port left out."""
    user, at, host = authority.rpartition("@")
    port = _PORT.fullmatch(host)
    if port and port["port"] in ("", _DEFAULT_PORT.get(scheme)):
        host = port["host"]
    return f"{user}{at}{_percent_normalised(host).lower()}"


def _percent_normalised(text: str) -> str:
    return _TO_NORMALISE.sub(_encoded, text)


def _encoded(match: re.Match[str]) -> str:
    seen = match[0]
    if len(seen) == 1:
        return "".join(f"%{byte:02X}" for byte in seen.encode("utf-8", "surrogatepass"))
    character = chr(int(seen[1:], 16))
    return character if character in _UNRESERVED else seen.upper()
