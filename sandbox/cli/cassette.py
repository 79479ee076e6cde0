"""`pincite cassette`: look at tapes, and move them.

Knows: its flags, what it prints, exit codes. Must not know: what a tape is made of.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cassettes.comparing import SessionComparison, compare_sessions
from cassettes.exchange import CHANNELS, Channel
from cassettes.importing import import_cassette
from cassettes.manifest import Comparison, compare, manifest_of, read_manifest, write_manifest
from cassettes.packing import pack
from cassettes.reading import TAPE, Exchange, Session, Tape, tape_folder
from cassettes.redact import Redactor
from cassettes.vcr import export_vcr
from cassettes.verifying import verify
from cassettes.warc import export_warc
from sandbox.folder.bundled import recorded_run
from sandbox.folder.store import SETTINGS, RunFolder
from sandbox.reports import tape_text
from sandbox.reports.figures import console_for
from sandbox.reports.untrusted import safe_json
from tools.tool import SetupError

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Look at tapes, and move them. TAPE is a run folder, its tape folder, or one journal (.yaml) in it. "
    "Nothing here touches the network.",
)

DIFFERENT, DAMAGED = 1, 3
WIDE = {"max_content_width": 110}
PIPED_CELLS = 160
KEY_NAMES = re.compile(r"(_KEY|_TOKEN|_SECRET|PASSWORD)$")
"""Environment variables whose values never leave in an export."""
PAGES: frozenset[Channel] = frozenset({"page"})
WEB: frozenset[Channel] = frozenset({"search", "page"})

Row = Mapping[str, object]

TapeArgument = Annotated[str, typer.Argument(metavar="TAPE", help="A run folder, a tape folder, or a journal.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, and nothing else.")]
SessionsOption = Annotated[
    list[str] | None, typer.Option("--session", metavar="NAME", help="Only this session; may be repeated. [all]")
]


@app.command("show", context_settings=WIDE)
def show_command(
    tape: TapeArgument,
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="A session's name, such as q0001.r0.")
    ] = None,
    exchange: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Show exchange N of the session whole, headers and bodies.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """List the sessions of a tape; of one session list its exchanges.

    A line an exchange: its position, place or round, channel, status, bytes asked → bytes answered (bodies decoded), and
    the address; below it the first words of what came: a model's text or tool calls, the titles of search results, a
    page's title.
    """
    with _open(tape) as opened:
        sessions = list(opened.sessions([session] if session is not None else ()))
        if session is None and len(sessions) != 1 and exchange is None:
            _print_sessions(sessions, as_json=json_)
            return
        if len(sessions) != 1:
            raise SetupError(f"{tape} holds {len(sessions)} sessions; name the one whose exchange is meant")
        if exchange is not None:
            print(_whole(_nth(sessions[0], exchange), as_json=json_))
            return
        _print_exchanges(sessions[0], as_json=json_)


@app.command("diff", context_settings=WIDE)
def diff_command(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A run folder, a tape folder, or a journal.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The same, to compare with.")],
    session: SessionsOption = None,
    json_: JsonOption = False,
) -> None:
    """Compare two tapes session by session, or two journals, exchange by exchange.

    The same request is looked for in both and its answers are compared (without a model's ids, times and usage); what is
    left is paired in order and the requests are compared. Each difference comes with the first differing path and the
    characters there, [-first-][+second+]. Exit code 1 where something differs.
    """
    with _open(first) as one, _open(second) as other:
        mine, theirs = list(one.sessions(session or ())), list(other.sessions(session or ()))
        by_name = {found.name: found for found in theirs}
        if len(mine) == len(theirs) == 1:
            by_name = {mine[0].name: theirs[0]}
        compared = [compare_sessions(found, by_name[found.name]) for found in mine if found.name in by_name]
        only_first = [found.name for found in mine if found.name not in by_name]
        only_second = sorted(by_name.keys() - {found.name for found in mine})
    if json_:
        _print_json(map(asdict, compared))
        _print_json({"only_first": name} for name in only_first)
        _print_json({"only_second": name} for name in only_second)
    else:
        _print_comparisons(compared)
        for told, names in (("first", only_first), ("second", only_second)):
            if names:
                _say(
                    f"{len(names)} sessions only in the {told}: {', '.join(names[:10])}{' …' if len(names) > 10 else ''}"
                )
    if only_first or only_second or any(found.differences for found in compared):
        raise typer.Exit(DIFFERENT)


@app.command("verify", context_settings=WIDE)
def verify_command(
    tape: TapeArgument,
    against: Annotated[
        Path | None,
        typer.Option(metavar="MANIFEST", help="Also compare the pages with a manifest (export --manifest), by hash."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Check every line, hash and reference of a tape; nothing is changed.

    Exit code 3 where the tape is not what was written (a damaged or torn journal or pack, a body that is missing or has
    another hash). With --against: exit code 1 where pages changed, are missing or were added.
    """
    path = recorded_run(tape)
    report = verify(path)
    compared = _against(path, against) if against is not None and not report.problems else None
    if json_:
        manifest = {"against": asdict(compared)} if compared is not None else {}
        _print_json([{**asdict(report), **manifest}])
    else:
        _say("\n".join(tape_text.verify_lines(report) + (tape_text.manifest_lines(compared) if compared else [])))
    if report.problems:
        raise typer.Exit(DAMAGED)
    if compared is not None and compared.changes:
        raise typer.Exit(DIFFERENT)


@app.command("pack", context_settings=WIDE)
def pack_command(tape: TapeArgument, json_: JsonOption = False) -> None:
    """Merge the packs of a tape into one, without the bodies that no session names.

    Safe to interrupt: the old packs go only when the new one is on the disk. Refused while a run writes to the tape.
    """
    folder = tape_folder(recorded_run(tape))
    with _run_lock(folder):
        summary = pack(folder)
    if json_:
        _print_json([asdict(summary)])
        return
    _say(
        f"{summary.n_packs_before} packs of {tape_text.size(summary.n_bytes_before)} → {summary.n_packs} of "
        f"{tape_text.size(summary.n_bytes)}; {summary.n_kept:,} bodies kept, {summary.n_dropped:,} dropped"
    )


@app.command("export", context_settings=WIDE)
def export_command(
    tape: TapeArgument,
    vcr: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write stock vcrpy cassettes, a file a session. [all channels]")
    ] = None,
    warc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a WARC 1.1 archive, .warc or .warc.gz. [search, page]")
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the hashes of what was fetched, without bodies. [page]")
    ] = None,
    session: SessionsOption = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"Only {', '.join(CHANNELS)}; may be repeated. Not with --vcr."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Write a tape in other formats. One of --vcr, --warc and --manifest, or several.

    Refused where an exchange holds the value of an environment variable that ends in _KEY, _TOKEN, _SECRET or PASSWORD.
    Bodies are exported as they are on the tape: decoded.
    """
    if vcr is None and warc is None and manifest is None:
        raise SetupError("say what to export: --vcr DIR, --warc FILE or --manifest FILE")
    if channel and vcr is not None:
        raise SetupError("a vcrpy cassette holds a whole session; --channel goes with --warc and --manifest")
    chosen: frozenset[Channel] = frozenset(_channel(name) for name in channel or ())
    with _open(tape) as opened:
        if vcr is not None:
            _report(*_export_vcr(opened, session or (), vcr), as_json=json_)
        if warc is not None:
            _report(*_export_warc(opened, session or (), chosen or WEB, warc), as_json=json_)
        if manifest is not None:
            _report(*_export_manifest(opened, session or (), chosen or PAGES, manifest), as_json=json_)


@app.command("import", context_settings=WIDE)
def import_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Cassettes that vcrpy wrote (.yaml or .json).")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Run folder to import into; its tape folder is made.")],
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the session, for one file. [the file's name]")
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(CHANNELS)}. [guessed for each exchange from its request]"),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Import foreign vcrpy cassettes: each becomes a session that replays in order.

    Only the headers that a tape keeps are taken over. A cassette that another serializer than vcrpy's wrote is refused.
    """
    if session is not None and len(files) > 1:
        raise SetupError("--session names one session; import the files one by one, or leave it out")
    on = _channel(channel) if channel is not None else None
    redactor = _redactor()
    for path in files:
        name = session if session is not None else path.stem
        done = asyncio.run(import_cassette(path, out / TAPE, name, channel=on, redactor=redactor))
        counts = {known: count for known, count in done.n_exchanges.items() if count}
        told = ", ".join(f"{known} {count}" for known, count in counts.items())
        _report(
            {"session": done.session, "journal": str(done.journal), "exchanges": counts},
            f"{done.session}  {told}  ({done.journal})",
            as_json=json_,
        )


def _export_vcr(tape: Tape, names: Iterable[str], out: Path) -> tuple[Row, str]:
    done = export_vcr(tape.sessions(names), out, _redactor())
    row: Row = {"vcr": str(out), "files": len(done.files), "exchanges": done.n_exchanges}
    return row, f"{out}: {len(done.files)} cassettes, {done.n_exchanges:,} exchanges"


def _export_warc(tape: Tape, names: Iterable[str], channels: frozenset[Channel], out: Path) -> tuple[Row, str]:
    done = export_warc(tape.sessions(names), out, channels, _redactor())
    words = f"{done.n_responses:,} responses, {done.n_revisits:,} revisits, {done.n_resources:,} resources"
    left_out = f"; {done.n_left_out:,} calls brought no response" if done.n_left_out else ""
    return {"warc": str(out), **asdict(done)}, f"{out}: {words}, {tape_text.size(done.n_bytes)}{left_out}"


def _export_manifest(tape: Tape, names: Iterable[str], channels: frozenset[Channel], out: Path) -> tuple[Row, str]:
    hashes = manifest_of(tape.sessions(names), channels, _redactor())
    write_manifest(hashes, out)
    row: Row = {"manifest": str(out), "pages": len(hashes.fetched), "left_out": hashes.n_left_out}
    left_out = f"; {hashes.n_left_out:,} calls brought no whole page" if hashes.n_left_out else ""
    return row, f"{out}: {len(hashes.fetched):,} hashes{left_out}"


def _open(tape: str) -> Tape:
    return Tape(recorded_run(tape))


def _print_sessions(sessions: Iterable[Session], *, as_json: bool) -> None:
    for session in sessions:
        entries = session.journal.entries
        counts = {channel: sum(entry.key.channel == channel for entry in entries) for channel in CHANNELS}
        if as_json:
            row = {"session": session.name, "exchanges": len(entries), "torn": session.journal.torn is not None}
            _print_json([{**row, "channels": counts}])
        else:
            _say(tape_text.session_line(session))


def _print_exchanges(session: Session, *, as_json: bool) -> None:
    width = _width()
    if not as_json:
        _say(tape_text.session_line(session))
    for exchange in session.exchanges():
        if as_json:
            print(safe_json(tape_text.exchange_json(exchange)))
        else:
            _say("\n".join(tape_text.exchange_lines(exchange, width)))


def _nth(session: Session, position: int) -> Exchange:
    found = next((exchange for exchange in session.exchanges() if exchange.position == position), None)
    if found is None:
        raise SetupError(f"session {session.name} has {len(session.journal.entries)} exchanges, counted from 0")
    return found


def _whole(exchange: Exchange, *, as_json: bool) -> str:
    if not as_json:
        return tape_text.whole_exchange(exchange)
    bodies = {"request_body": exchange.request.body, "response_body": exchange.response.body}
    texts = {name: body.decode("utf-8", "backslashreplace") for name, body in bodies.items()}
    row = {**json.loads(tape_text.exchange_json(exchange)), **texts}
    return safe_json(json.dumps(row, ensure_ascii=False, sort_keys=True))


def _print_comparisons(compared: Iterable[SessionComparison]) -> None:
    width = _width()
    for comparison in compared:
        _say("\n".join(tape_text.comparison_lines(comparison, width)))


def _against(path: Path, manifest: Path) -> Comparison:
    theirs = read_manifest(manifest)
    channels: frozenset[Channel] = frozenset(fetched.channel for fetched in theirs.fetched)
    with Tape(path) as tape:
        return compare(theirs, manifest_of(tape.sessions(), channels or PAGES, _redactor()))


@contextmanager
def _run_lock(folder: Path) -> Generator[None]:
    """The lock of the run that the tape belongs to, so that no process of it has the tape open."""
    run = folder.parent
    if folder.name != TAPE or not (run / SETTINGS).exists():
        yield
        return
    with RunFolder(run):
        yield


def _channel(name: str) -> Channel:
    for channel in CHANNELS:
        if name == channel:
            return channel
    raise SetupError(f"there is no channel {name!r}; the channels are: {', '.join(CHANNELS)}")


def _redactor() -> Redactor:
    return Redactor(value for name, value in os.environ.items() if KEY_NAMES.search(name.upper()))


def _report(row: Row, words: str, *, as_json: bool) -> None:
    if as_json:
        _print_json([row])
    else:
        _say(words)


def _print_json(rows: Iterable[Row]) -> None:
    for row in rows:
        print(safe_json(json.dumps(row, ensure_ascii=False, sort_keys=True, default=str)))


def _width() -> int:
    console = console_for(sys.stdout)
    return console.width if console.is_terminal else PIPED_CELLS


def _say(text: str) -> None:
    console_for(sys.stdout).print(text, soft_wrap=True)
