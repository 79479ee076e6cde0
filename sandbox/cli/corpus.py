"""`pincite corpus`: build a local search corpus from documents, and search it.

Knows: its flags, what it prints. Must not know: what a corpus is made of.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tools.corpus import CorpusSummary, build, open_corpus
from tools.engines.local import LocalEngine
from tools.extract import extract
from tools.search import MAX_QUERY_CHARS, Hit
from tools.tool import SetupError

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Build a local search corpus from documents, and search it. Nothing here touches the network.",
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
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("extracting", total=None)

        def show(n_done: int, n_all: int, _doc_id: str) -> None:
            progress.update(task, completed=n_done, total=n_all)

        summary = build(source, out, extract=extract, progress=show)
    print(_as_json(summary) if json_ else _in_words(summary))


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
    corpus = open_corpus(folder)
    try:
        hits = LocalEngine(corpus).find(query, count, 1)
    finally:
        corpus.close()
    if json_:
        for rank, hit in enumerate(hits, start=1):
            line = {"rank": rank, "url": hit.url, "title": hit.title, "snippets": hit.snippets}
            print(json.dumps(line, ensure_ascii=False, sort_keys=True))
    elif hits:
        print("\n\n".join(_listed(rank, hit) for rank, hit in enumerate(hits, start=1)))
    else:
        print("no hits", file=sys.stderr)


def _listed(rank: int, hit: Hit) -> str:
    snippets = [f"   {' '.join(snippet.split())}" for snippet in hit.snippets]
    return "\n".join([f"{rank:>2} {hit.title}", f"   {hit.url}", *snippets])


def _in_words(summary: CorpusSummary) -> str:
    lines = [f"{summary.path}: {summary.n_documents:,} documents, {summary.n_chars:,} characters"]
    if summary.keeps_fragments:
        lines.append("URL fragments count: some documents differ by them alone.")
    if summary.renamed:
        lines.append(f"URLs of their own, because another document has theirs: {len(summary.renamed)}")
        lines += [f"  {renamed.doc_id}  {renamed.url}" for renamed in summary.renamed]
    if summary.skipped:
        lines.append(f"left out: {len(summary.skipped)}")
        lines += [f"  {skipped.doc_id}  {skipped.reason}" for skipped in summary.skipped]
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
