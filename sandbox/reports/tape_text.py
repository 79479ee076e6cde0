"""A tape as text for a person: its sessions, the exchanges of one, a whole exchange, what differs.

Knows: how people read a tape. Must not know: files, flags.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from urllib.parse import unquote

from cassettes.comparing import DifferenceKind, SessionComparison
from cassettes.exchange import CHANNELS
from cassettes.manifest import Comparison
from cassettes.reading import Exchange, Session
from cassettes.verifying import VerifyReport
from sandbox.reports.exchange_words import first_words
from sandbox.reports.untrusted import one_line, visible
from tools.decode import decode

SHOWN, INDENT, SHORT = 40, 6, 20
TOLD: dict[DifferenceKind, str] = {
    "answer": "another answer",
    "request": "another request",
    "only_first": "only in the first",
    "only_second": "only in the second",
}


def session_line(session: Session) -> str:
    """Name, exchanges by channel, torn or not: one line."""
    counts = Counter(entry.key.channel for entry in session.journal.entries)
    by_channel = ", ".join(f"{channel} {counts[channel]}" for channel in CHANNELS if counts[channel])
    torn = " · torn" if session.journal.torn is not None else ""
    return f"{one_line(session.name, 60)}  {sum(counts.values())} exchanges: {by_channel}{torn}"


def exchange_lines(exchange: Exchange, width: int) -> list[str]:
    """Two lines of at most `width` cells: what was asked of whom and how much came; then the first words of it."""
    key, request, response = exchange.key, exchange.request, exchange.response
    where = key.place or f"r{key.round:02}"
    status = "–" if exchange.exception is not None else str(response.status)
    # `one_line` folds runs of spaces: what is aligned stands outside of it.
    columns = (
        f"{exchange.position:>4}  {one_line(where, 8):<8} {key.channel:<6} {status:>3}  "
        f"{size(len(request.body)):>8} → {size(len(response.body)):>8}  "
    )
    again = f"(number {key.n} of the same request) " if key.n > 1 else ""
    asked = one_line(f"{request.method} {unquote(request.url)}", max(width - len(columns), SHORT))
    return [f"{columns}{asked}", f"{' ' * INDENT}{one_line(again + said(exchange), max(width - INDENT, SHORT))}"]


def said(exchange: Exchange) -> str:
    """What an exchange brought, on as many lines as it has."""
    if exchange.exception is not None:
        return f"✕ {exchange.exception}"
    broken = f"(broke off: {exchange.response.broken}) " if exchange.response.broken is not None else ""
    return broken + first_words(exchange.response.body, exchange.media_type)


def exchange_json(exchange: Exchange) -> str:
    """One exchange as a JSON line, without bodies."""
    key, request, response = exchange.key, exchange.request, exchange.response
    row = {
        "session": exchange.session,
        "position": exchange.position,
        "channel": key.channel,
        "round": key.round,
        "place": key.place,
        "identity": key.id,
        "n": key.n,
        "method": request.method,
        "url": request.url,
        "status": response.status,
        "failed": key.failed,
        "exception": exchange.exception,
        "broken": response.broken,
        "request_bytes": len(request.body),
        "response_bytes": len(response.body),
        "media_type": exchange.media_type,
        "first_words": one_line(said(exchange), 200),
    }
    return json.dumps(row, ensure_ascii=False, sort_keys=True)


def whole_exchange(exchange: Exchange) -> str:
    """Everything of one exchange, headers and bodies; JSON is indented, control characters are written out."""
    request, response = exchange.request, exchange.response
    parts = [f"{request.method} {request.url}", *_header_lines(request.headers), ""]
    parts += [_body(request.body, ""), ""] if request.body else []
    if exchange.exception is not None:
        return visible("\n".join([*parts, f"✕ {exchange.exception}"]))
    parts += [f"{response.status}", *_header_lines(response.headers), ""]
    parts += [_body(response.body, exchange.media_type)] if response.body else []
    if response.broken is not None:
        parts.append(f"✕ broke off here: {response.broken}")
    return visible("\n".join(parts))


def comparison_lines(comparison: SessionComparison, width: int) -> list[str]:
    """What differs between two sessions; one line where nothing does."""
    name = one_line(comparison.first, 60)
    if comparison.second != comparison.first:
        name += f" and {one_line(comparison.second, 60)}"
    counts = Counter(found.kind for found in comparison.differences)
    told = [f"{counts[kind]} {TOLD[kind]}" for kind in TOLD if counts[kind]]
    lines = [f"{name}: {comparison.n_same} the same" + (f", {', '.join(told)}" if told else "")]
    for found in comparison.differences[:SHOWN]:
        at = "/".join("–" if position is None else str(position) for position in (found.first, found.second))
        where = one_line(found.place or f"r{found.round:02}", 8)
        columns = f"{at:>7}  {where:<8} {found.channel:<6} {TOLD[found.kind]}: "
        lines.append(columns + one_line(unquote(found.request), max(width - len(columns), SHORT)))
        if found.path:
            lines += [f"{' ' * 9}{one_line(found.path)}", f"{' ' * 9}{one_line(found.text)}"]
    if len(comparison.differences) > SHOWN:
        lines.append(f"  … and {len(comparison.differences) - SHOWN} more (--json shows all)")
    return lines


def verify_lines(report: VerifyReport) -> list[str]:
    """What was looked at, and each problem."""
    lines = [
        f"{report.n_sessions} sessions, {report.n_exchanges:,} exchanges, {report.n_blobs:,} bodies "
        f"({size(report.n_blob_bytes)}): " + (f"{len(report.problems)} problems" if report.problems else "all is well")
    ]
    if report.n_unnamed:
        lines.append(f"{report.n_unnamed:,} bodies are named by no session; pincite cassette pack drops them.")
    lines += [
        f"  {problem.kind}  {one_line(problem.where)}: {one_line(problem.message)}" for problem in report.problems
    ]
    return lines


def manifest_lines(comparison: Comparison) -> list[str]:
    """Which pages are not those of the manifest."""
    counts = ", ".join(f"{comparison.count(kind)} {kind}" for kind in ("changed", "missing", "added"))
    lines = [f"against the manifest: {comparison.n_same} pages the same, {counts}"]
    for change in comparison.changes[:SHOWN]:
        lines.append(f"  {change.kind:<7}  {one_line(change.url)}")
        if change.kind == "changed":
            lines.append(f"           {_short(change.before)} → {_short(change.after)}")
    if len(comparison.changes) > SHOWN:
        lines.append(f"  … and {len(comparison.changes) - SHOWN} more (--json shows all)")
    return lines


def size(n_bytes: int) -> str:
    """Bytes as people read them."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1000:.1f} kB"
    return f"{n_bytes / 1_000_000:.1f} MB"


def _header_lines(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    return [f"{name.decode('latin-1')}: {value.decode('latin-1')}" for name, value in headers]


def _body(body: bytes, media_type: str) -> str:
    try:
        return json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        pass
    if body.startswith(b"%PDF-") or b"\0" in body[:1024]:
        return f"({media_type or 'binary'}, {size(len(body))})"
    return decode(body).text


def _short(versions: tuple[str, ...]) -> str:
    return ", ".join(version[:16] for version in versions)
