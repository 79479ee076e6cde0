"""`pincite corpus`: build a local search corpus from documents, search it, fetch the documents of a data set.

Knows: its flags, what it prints. Must not know: what a corpus is made of, how a page is fetched.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sandbox.fetching.fetch import Fetched, FetchPlan, build_corpus, check, fetch
from sandbox.fetching.links import LinkRow, Unaskable, links_of, unaskable
from sandbox.folder.store import RunFolder
from sandbox.loading.locate import locate
from sandbox.loading.questions import Dataset, load_rows, read_field_map
from sandbox.reports.untrusted import one_line, safe_json
from sandbox.run import utc_now
from sandbox.settings import FetchSettings, resolve
from tools.corpus import CorpusSummary, build, open_corpus
from tools.corpus import Progress as Watch
from tools.engines.local import LocalEngine
from tools.extract import extract
from tools.search import MAX_QUERY_CHARS, Hit
from tools.tool import SetupError

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Build a local search corpus from documents, and search it; fetch the documents that a data set names. "
    "Only fetch and check-links touch the network.",
)


@app.command("build", context_settings={"max_content_width": 110})
def build_(
    source: Annotated[
        Path, typer.Argument(metavar="DIR_OR_MANIFEST", help="Folder of documents, or a manifest (.jsonl).")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for corpus.sqlite; a corpus there is replaced.")],
    json_: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
    ] = False,
) -> None:
    """Extract the text of documents (HTML, PDF, plain text, Markdown, JSON, CSV) and index it.

    A manifest has one JSON object a line: path (relative to the manifest) and, if known, doc_id, url, title,
    media_type, sha256 (checked). Other keys are ignored. A folder with a manifest.jsonl in it is read by that; of any
    other folder every file is taken, hidden ones excepted, with the URL corpus:path/in/the/folder.

    Each document stays a page of its own: where URLs differ by their fragment alone (#第5条), fragments count, and a
    later document at a URL that is taken gets #doc=DOC_ID. What cannot be extracted is listed and left out.

    Then: pincite run BENCHMARK --search local --corpus DIR
    """
    # pypdf logs every oddity of a file; what it means for the text is in the summary.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    with _progress("extracting") as watch:
        summary = build(source, out, extract=extract, progress=watch)
    print(safe_json(_as_json(summary)) if json_ else _in_words(summary))


@app.command("search", context_settings={"max_content_width": 110})
def search(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the corpus (pincite corpus build).")],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help=f"What to search for, up to {MAX_QUERY_CHARS} characters.")
    ],
    count: Annotated[int, typer.Option(metavar="N", help="Hits to show.", min=1, max=1000)] = 10,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object a hit and nothing else.")] = False,
) -> None:
    """Search a corpus as a model would: the same ranking and the same snippets. No hits is no error.

    With --json each line is {"rank", "url", "title", "snippets"}.
    """
    if not query.strip():
        raise SetupError("the query is blank")
    if len(query) > MAX_QUERY_CHARS:
        raise SetupError(f"the query has {len(query)} characters; at most {MAX_QUERY_CHARS} are taken")
    if any("\ud800" <= char <= "\udfff" for char in query):
        raise SetupError("the query holds bytes that are no UTF-8; check the encoding of the terminal")
    corpus = open_corpus(folder)
    try:
        hits = LocalEngine(corpus).find(query, count, 1)
    finally:
        corpus.close()
    if json_:
        for rank, hit in enumerate(hits, start=1):
            line = {"rank": rank, "url": hit.url, "title": hit.title, "snippets": hit.snippets}
            print(safe_json(json.dumps(line, ensure_ascii=False, sort_keys=True)))
    elif hits:
        print("\n\n".join(_listed(rank, hit) for rank, hit in enumerate(hits, start=1)))
    else:
        print("no hits", file=sys.stderr)


DataOption = Annotated[
    str,
    typer.Option(metavar="FILE", help="The question file: JSON Lines, JSON or Parquet; also mini:FILE, hf:OWNER/NAME."),
]
FieldsOption = Annotated[
    Path | None,
    typer.Option(metavar="MAP.toml", help="TOML that names columns, where they are not the usual ones."),
]
LimitOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only what the first N questions name.")]
SettingsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="TOML settings, of which only [fetch] is used (see a run.toml)."),
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Links under way at once; one a second and host.")
]


@app.command("fetch", context_settings={"max_content_width": 110})
def fetch_(
    data: DataOption,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for what is fetched, and for the corpus made of it.")
    ],
    fields: FieldsOption = None,
    limit: LimitOption = None,
    settings: SettingsOption = None,
    concurrency: ConcurrencyOption = 8,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
    ] = False,
) -> None:
    """Fetch every document that the questions of FILE name, each once, and build a corpus of them.

    DIR gets documents/ (bodies by sha256), manifest.jsonl, corpus.sqlite, tape/ and links.jsonl: a line a link with
    status (alive, unreadable, dead), failure, final_url, sha256, media_type, physical_pages, checked_at, questions.

    A dead link is no error: it is counted and listed, with the questions that it takes out. After Ctrl-C the same
    command goes on: what came is not asked for again, what failed in passing (no connection, 429, 5xx) is.

    Then: pincite run tmg-cqa-rag --data FILE --corpus DIR
    """
    dataset, rules = _dataset(data, fields), _fetch_settings(settings)
    links = links_of(dataset, limit)
    try:
        # The lock of a run folder: two that write one ledger and one corpus would lose each other's rows.
        with RunFolder(out), _progress("fetching") as watch:
            fetched = asyncio.run(fetch(links, out, FetchPlan(rules, concurrency, watch, utc_now)))
            summary = build_corpus(fetched.rows, out)
    except KeyboardInterrupt:
        print(f"pincite: stopped; what came is kept in {out}. The same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    n_questions = len(dataset.rows[:limit])
    if json_:
        print(safe_json(_fetched_json(fetched, summary, n_questions)))
        return
    print("\n".join([*_link_lines(fetched.rows), *_lost_lines(unaskable(fetched.rows), n_questions)]))
    print(_in_words(summary) if summary else f"{out}: no document could be read, so there is no corpus")


@app.command("check-links", context_settings={"max_content_width": 110})
def check_links(
    data: DataOption,
    fields: FieldsOption = None,
    limit: LimitOption = None,
    settings: SettingsOption = None,
    concurrency: ConcurrencyOption = 8,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object a link and nothing else.")] = False,
) -> None:
    """Say which links of the questions of FILE are alive. Nothing is kept, and a dead link is no error.

    Each is fetched as `pincite corpus fetch` does it (HEAD is answered wrongly by too many servers), but no text is made
    of what comes, so a scanned PDF counts as alive here.
    """
    dataset, rules = _dataset(data, fields), _fetch_settings(settings)
    with _progress("checking") as watch:
        plan = FetchPlan(rules, concurrency, watch, utc_now)
        checked = asyncio.run(check(links_of(dataset, limit), plan))
    if json_:
        for row in checked.rows:
            print(safe_json(row.model_dump_json()))
        return
    print("\n".join([*_link_lines(checked.rows), *_lost_lines(unaskable(checked.rows), len(dataset.rows[:limit]))]))


@contextmanager
def _progress(what: str) -> Generator[Watch]:
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=None)

        def show(n_done: int, n_all: int, _name: str) -> None:
            progress.update(task, completed=n_done, total=n_all)

        yield show


def _dataset(data: str, fields: Path | None) -> Dataset:
    return load_rows(locate(data), read_field_map(fields) if fields else None)


def _fetch_settings(file: Path | None) -> FetchSettings:
    return resolve("tmg-cqa-rag", {}, file, {}).fetch


def _link_lines(rows: Sequence[LinkRow]) -> list[str]:
    counts = Counter(row.status for row in rows)
    said = ", ".join(f"{status} {counts[status]}" for status in ("alive", "unreadable", "dead") if counts[status])
    lost = [row for row in rows if row.failure is not None]
    lines = [
        f"  {row.status}  {one_line(row.url)}  {row.failure.kind}: {one_line(row.failure.message)}"
        for row in lost
        if row.failure
    ]
    return [f"links: {len(rows)} ({said})", *lines]


def _lost_lines(lost: Sequence[Unaskable], n_questions: int) -> list[str]:
    lines = [f"  {one_line(question.id)}  {one_line(' '.join(question.urls))}" for question in lost]
    return [f"questions that lack a document: {len(lost)} of {n_questions}", *lines]


def _fetched_json(fetched: Fetched, summary: CorpusSummary | None, n_questions: int) -> str:
    counts = Counter(row.status for row in fetched.rows)
    lost = unaskable(fetched.rows)
    return json.dumps(
        {
            "links": len(fetched.rows),
            "alive": counts["alive"],
            "unreadable": counts["unreadable"],
            "dead": counts["dead"],
            "asked": fetched.n_asked,
            "lost_links": [row.model_dump(mode="json") for row in fetched.rows if row.status != "alive"],
            "questions": n_questions,
            "left_out": [{"id": question.id, "urls": question.urls} for question in lost],
            "corpus": json.loads(_as_json(summary)) if summary else None,
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def _listed(rank: int, hit: Hit) -> str:
    snippets = [f"   {one_line(snippet)}" for snippet in hit.snippets]
    return "\n".join([f"{rank:>2} {one_line(hit.title)}", f"   {one_line(hit.url)}", *snippets])


def _in_words(summary: CorpusSummary) -> str:
    lines = [f"{summary.path}: {summary.n_documents:,} documents, {summary.n_chars:,} characters"]
    if summary.keeps_fragments:
        lines.append("URL fragments count: some documents differ by them alone.")
    if summary.renamed:
        lines.append(f"URLs of their own, because another document has theirs: {len(summary.renamed)}")
        lines += [f"  {one_line(renamed.doc_id)}  {one_line(renamed.url)}" for renamed in summary.renamed]
    if summary.skipped:
        lines.append(f"left out: {len(summary.skipped)}")
        lines += [f"  {one_line(skipped.doc_id)}  {one_line(skipped.reason)}" for skipped in summary.skipped]
    return "\n".join([*lines, summary.digest])


def _as_json(summary: CorpusSummary) -> str:
    return json.dumps(
        {
            "path": str(summary.path),
            "documents": summary.n_documents,
            "characters": summary.n_chars,
            "keeps_fragments": summary.keeps_fragments,
            "renamed": [{"doc_id": r.doc_id, "given": r.given, "url": r.url} for r in summary.renamed],
            "skipped": [{"doc_id": s.doc_id, "url": s.url, "reason": s.reason} for s in summary.skipped],
            "digest": summary.digest,
        },
        ensure_ascii=False,
        sort_keys=True,
    )
