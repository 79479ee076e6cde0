"""The report page: one HTML file that needs no server, or a page with a folder of sessions beside it.

Knows: the order of the file, its security policy, what is too large to send. Must not know: what a session holds, how
anything is drawn.

    policy, style, static summary, index, program, sessions (largest last), end mark

The program stands before the sessions, so that the table is usable while they still load; the end mark tells it that
nothing was cut off. Sessions go to the disk one by one: memory is flat in the number of questions.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO

from cassettes.replacing import new_file
from sandbox.folder.store import disk_error
from sandbox.folder.stored_run import StoredRun
from sandbox.reports.page_codes import code_pages
from sandbox.reports.page_compare import compared_with_first
from sandbox.reports.page_data import PagesKept
from sandbox.reports.page_filter import only
from sandbox.reports.page_format import VERSION, ComparedShown, Index, Row
from sandbox.reports.page_pack import PackedRun, PackedSession, Selection, pack_run
from sandbox.reports.page_static import static_summary, title
from sandbox.reports.run_tables import LETTERS
from sandbox.reports.untrusted import safe_json
from tools.tool import SetupError

LARGE_BYTES = 200_000_000
"""Beyond this mail and artifact viewers give up: the command says what makes the page smaller."""
FOLDER_BYTES = 500_000_000
"""Beyond this the sessions go into a folder beside the page."""
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'{own}; style-src 'sha256-{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types {types}"
)
END = '<script type="application/x-pincite" id="pc-end"></script>\n'


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What goes into the page. `only`: a filter in the page's own language; `folder`: sessions beside the page."""

    pages: PagesKept = "all"
    only: str | None = None
    folder: bool = False


@dataclass(frozen=True, slots=True)
class PageWritten:
    """What was written. `folder` is where the sessions are, None where they are in the page itself."""

    path: Path
    n_bytes: int
    n_sessions: int
    folder: Path | None


def write_page(runs: Sequence[StoredRun], target: Path, options: PageOptions) -> PageWritten:
    """Write the page of the runs (1 to 26) to `target`, replacing it as a whole.

    Raises SetupError where the runs or the target cannot be used; the target is then as it was.
    """
    if len(runs) > len(LETTERS):
        raise SetupError(f"a page shows at most {len(LETTERS)} runs, not {len(runs)}")
    selection = Selection(only(options.only or ""), options.pages)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent) as scratch:
            packed = [pack_run(run, letter, selection, scratch) for letter, run in zip(LETTERS, runs, strict=False)]
            return _assemble(_Contents(packed, compared_with_first(runs)), scratch, target, options)
    except OSError as error:
        raise disk_error(error, target) from error


@dataclass(frozen=True, slots=True)
class _Contents:
    """What goes into the page beside the sessions themselves."""

    runs: Sequence[PackedRun]
    compared: tuple[ComparedShown, ...]


def _assemble(contents: _Contents, scratch: BinaryIO, target: Path, options: PageOptions) -> PageWritten:
    sessions = sorted((s for run in contents.runs for s in run.sessions), key=lambda s: (s.n_bytes, s.row.name))
    total = sum(session.n_bytes for session in sessions)
    folder = target.with_name(f"{target.stem}.data") if options.folder or total > FOLDER_BYTES else None
    fresh = target.with_name(f".{target.name}.new")
    try:
        with new_file(fresh) as page:
            page.write(_head(contents, options, folder).encode())
            if folder is None:
                for session in sessions:
                    page.write(f'<script type="application/x-pincite" id="pc-{session.row.name}">'.encode())
                    _copy(scratch, session, page)
                    page.write(b"</script>\n")
            page.write(END.encode())
        if folder is not None:
            _write_folder(folder, sessions, scratch)
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
    return PageWritten(target, target.stat().st_size + (total if folder else 0), len(sessions), folder)


def _head(contents: _Contents, options: PageOptions, folder: Path | None) -> str:
    """Everything up to the sessions."""
    script, style = _asset("app.js"), _asset("app.css")
    shown = tuple(run.shown for run in contents.runs)
    index = Index(
        version=VERSION,
        pincite=version("pincite"),
        runs=shown,
        columns=Row._fields,
        codes=code_pages(shown),
        folder=folder.name if folder else None,
        pages=options.pages,
        only=options.only,
        compared=contents.compared,
    )
    policy = POLICY.format(
        script=_sha256(script),
        style=_sha256(style),
        own=" 'self'" if folder else "",
        types="pincite-folder" if folder else "'none'",
    )
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{title(shown)}</title>\n<style>{style}</style>\n"
        f'<body>\n<main id="static">{static_summary(shown)}</main>\n<div id="app"></div>\n'
        f'<script type="application/json" id="pc-index">{_safe(index.model_dump_json())}</script>\n'
        f"<script>{script}</script>\n"
    )


def _safe(json_text: str) -> str:
    """JSON that no HTML parser can take for a tag or a comment, and no editor for an order to turn text round."""
    return safe_json(json_text.replace("<", "\\u003c"))


def _asset(name: str) -> str:
    """The page's own program or style, as built from `web/src`."""
    return files("sandbox.reports").joinpath("web", name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _copy(scratch: BinaryIO, session: PackedSession, page: BinaryIO) -> None:
    scratch.seek(session.offset)
    page.write(scratch.read(session.n_bytes))


def _write_folder(folder: Path, sessions: Sequence[PackedSession], scratch: BinaryIO) -> None:
    """One script per session; files of an earlier page in the same folder are removed."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("pc-*.js"):
        old.unlink()
    for session in sessions:
        with (folder / f"pc-{session.row.name}.js").open("wb") as file:
            file.write(f'pincite("{session.row.name}","'.encode())
            _copy(scratch, session, file)
            file.write(b'")\n')
