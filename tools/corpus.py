"""A local corpus: one SQLite file with the text of its pages and an index over them.

Knows: the file's shape, how it is built and read. Must not know: how text is extracted, how queries are made.

The index is FTS5 without content of its own over the tokens of tools.text.bigrams; rows are in the order of the URLs,
so that equal ranks come out in a fixed order.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

from citations.ledger import page_identity
from tools.document import Document
from tools.english import in_english
from tools.manifest import DROP, KEEP, Renamed, SourceFile, differ_by_fragment, source_files, with_own_urls
from tools.text import RULES, bigrams
from tools.tool import Language, SetupError, ToolFailure

FILE: Final = "corpus.sqlite"
FORMAT: Final = "1"

_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE page (
    id INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE, url TEXT NOT NULL UNIQUE, final_url TEXT NOT NULL,
    title TEXT NOT NULL, media_type TEXT NOT NULL, body_sha256 TEXT NOT NULL, engine TEXT NOT NULL,
    page_starts TEXT NOT NULL, notes TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE alias (identity TEXT PRIMARY KEY, page INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE term (term TEXT PRIMARY KEY, n_pages INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE page_index USING fts5 (title, body, content='', tokenize='ascii');
"""


class Extract(Protocol):
    """Bytes to text; tools.extract.extract is one. Raises ToolFailure where there is no text to be had."""

    def __call__(self, body: bytes, *, url: str, header_type: str | None) -> Document:
        """The document in `body`, which came from `url` and was said to be of type `header_type`."""
        ...


Progress = Callable[[int, int, str], None]
"""Called after each document: how many are done, of how many, and its doc_id."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document without text to be had: not in the corpus."""

    doc_id: str
    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """What was built. `keeps_fragments` = documents differ by URL fragment alone, so it is part of a page's identity."""

    path: Path
    n_documents: int
    n_chars: int
    skipped: tuple[Skipped, ...]
    renamed: tuple[Renamed, ...]
    keeps_fragments: bool
    digest: str


def build(source: Path, out: Path, *, extract: Extract, progress: Progress | None = None) -> CorpusSummary:
    """Build the corpus of `source` (see tools.manifest.source_files) into `out`, in place of one that is there.

    The same documents give the same file. Raises SetupError for a source that is broken; a document that cannot be
    extracted is listed in the summary. An interrupted build leaves what was there before.
    """
    require_fts5()
    files, renamed = with_own_urls(source_files(source))
    documents: list[tuple[SourceFile, Document]] = []
    skipped: list[Skipped] = []
    for n_done, file in enumerate(files, start=1):
        body = file.body()
        try:
            document = extract(body, url=file.url, header_type=file.media_type)
        except ToolFailure as failure:
            skipped.append(Skipped(file.doc_id, file.url, f"{failure.kind}: {in_english(failure.message)}"))
        else:
            if document.text.strip():
                documents.append((file, document))
            else:
                skipped.append(Skipped(file.doc_id, file.url, "empty: there is no text in it"))
        if progress is not None:
            progress(n_done, len(files), file.doc_id)
    if not documents:
        reason = f"{skipped[0].doc_id}: {skipped[0].reason}"
        raise SetupError(f"no document of {source} has text that could be extracted ({reason})")
    documents.sort(key=lambda pair: pair[0].url)
    keeps_fragments = differ_by_fragment(file.url for file, _ in documents)
    digest = _digest(documents)
    meta = {"format": FORMAT, "rules": str(RULES), "keeps_fragments": str(int(keeps_fragments)), "digest": digest}
    path = out / FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        unfinished = out / f"{FILE}.unfinished"
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(unfinished)) as connection, connection:
            connection.executescript(_SCHEMA)
            _write(connection, documents, meta)
        unfinished.replace(path)
    except (OSError, sqlite3.OperationalError) as error:
        raise SetupError(f"cannot write {path}: {error}") from error
    n_chars = sum(len(document.text) for _, document in documents)
    return CorpusSummary(path, len(documents), n_chars, tuple(skipped), renamed, keeps_fragments, digest)


def _title(file: SourceFile, document: Document) -> str:
    return file.title or document.title or file.path.name


def _digest(documents: Sequence[tuple[SourceFile, Document]]) -> str:
    """Over everything that a search or a fetch can show, and the rules of the index."""
    total = hashlib.sha256(f"corpus {FORMAT} {RULES}\n".encode())
    for file, document in documents:
        text_sha256 = hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()
        shown = [file.doc_id, file.url, _title(file, document), document.body_sha256, text_sha256]
        total.update(json.dumps([*shown, document.page_starts]).encode() + b"\n")
    return f"sha256:{total.hexdigest()}"


def _write(
    connection: sqlite3.Connection, documents: Sequence[tuple[SourceFile, Document]], meta: dict[str, str]
) -> None:
    connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    aliases: dict[str, int | None] = {}
    for number, (file, document) in enumerate(documents, start=1):
        title, text = _title(file, document), document.text.encode("utf-8", "replace").decode()
        starts, notes = json.dumps(document.page_starts), json.dumps(document.notes, ensure_ascii=False)
        connection.execute(
            "INSERT INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, file.doc_id, file.url, document.final_url, title, document.media_type, document.body_sha256,
             document.engine, starts, notes, text),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO page_index (rowid, title, body) VALUES (?, ?, ?)",
            (number, " ".join(bigrams(title)), " ".join(bigrams(text))),
        )
        for other in {page_identity(document.final_url, KEEP), page_identity(file.url, DROP)}:
            aliases[other] = None if other in aliases else number  # what two pages could be called names neither
    for number, (file, _) in enumerate(documents, start=1):
        aliases[page_identity(file.url, KEEP)] = number
    known = [(identity, number) for identity, number in sorted(aliases.items()) if number is not None]
    connection.executemany("INSERT INTO alias VALUES (?, ?)", known)
    connection.execute("INSERT INTO page_index (page_index) VALUES ('optimize')")
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, page_index, row)")
    connection.execute("INSERT INTO term SELECT term, doc FROM temp.words")


def require_fts5() -> None:
    """Raises SetupError where this Python's SQLite has no full-text index."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (body)")
        except sqlite3.OperationalError as error:
            raise SetupError(
                f"the SQLite {sqlite3.sqlite_version} of this Python lacks FTS5, which local search needs; "
                "use another build of Python (uv python install 3.12)"
            ) from error


def open_corpus(folder: Path) -> Corpus:
    """The corpus in `folder` (or the file itself), for reading.

    Raises SetupError where there is none, it was built by another version, or SQLite lacks FTS5.
    """
    path = folder if folder.is_file() else folder / FILE
    if not path.is_file():
        raise SetupError(f"there is no corpus in {folder}; build one: pincite corpus build SOURCE --out {folder}")
    require_fts5()
    with closing(_connect(path)) as connection:
        try:
            rows: list[tuple[str, str]] = connection.execute("SELECT key, value FROM meta").fetchall()
            (n_documents,) = connection.execute("SELECT count(*) FROM page").fetchone()
        except sqlite3.DatabaseError as error:
            raise SetupError(f"{path} is no corpus ({error}); build it again: pincite corpus build") from error
    meta = dict(rows)
    if (meta.get("format"), meta.get("rules")) != (FORMAT, str(RULES)):
        raise SetupError(f"{path} was built by another version of pincite; build it again: pincite corpus build")
    return Corpus(path, int(n_documents), meta["keeps_fragments"] == "1", meta["digest"])


def _connect(path: Path) -> sqlite3.Connection:
    # immutable: no locks and no journal, so a corpus may lie on a read-only disk and be shared by any number of runs.
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True, check_same_thread=False)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A page that matches a query; `score` is greater for a better match (BM25)."""

    page: int
    score: float


class Corpus:
    """A corpus for reading, from any number of threads.

    `keeps_fragments` tells the citation policy that fragments separate pages; `digest` (`sha256:…`) names the content
    in the provenance.
    """

    def __init__(self, path: Path, n_documents: int, keeps_fragments: bool, digest: str) -> None:
        self.path = path
        self.n_documents = n_documents
        self.keeps_fragments = keeps_fragments
        self.digest = digest
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._finalizer = weakref.finalize(self, _close_all, self._connections)

    def close(self) -> None:
        """Close the file; the corpus cannot be read afterwards."""
        self._finalizer()

    def document(self, url: str) -> Document | None:
        """The page at `url`, by any spelling of it, by its URL after redirects, or without its fragment where that
        leaves no doubt. None where there is none."""
        row = self._one("SELECT page FROM alias WHERE identity = ?", page_identity(url, KEEP))
        return None if row is None else self.page(int(str(row[0])))

    def page(self, number: int) -> Document:
        """The page of a rank. Raises LookupError for a number that is not of this corpus."""
        row = self._one(
            "SELECT url, final_url, title, media_type, text, body_sha256, engine, page_starts, notes "
            "FROM page WHERE id = ?",
            number,
        )
        if row is None:
            raise LookupError(f"no page {number} in {self.path}")
        url, final_url, title, media_type, text, body_sha256, engine, starts, notes = map(str, row)
        return Document(
            url,
            final_url,
            title,
            media_type,
            text,
            body_sha256,
            engine,
            tuple(json.loads(starts)),
            tuple(json.loads(notes)),
        )

    def url_of(self, doc_id: str) -> str | None:
        """The URL of the document that the manifest calls `doc_id`; None where there is none."""
        row = self._one("SELECT url FROM page WHERE doc_id = ?", doc_id)
        return None if row is None else str(row[0])

    def siblings(self, url: str, limit: int) -> list[str]:
        """URLs that differ from `url` by their fragment alone, in order; at most `limit`."""
        bare = page_identity(url, DROP)
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT page.url FROM alias JOIN page ON page.id = alias.page "
                "WHERE identity > ? AND identity < ? ORDER BY identity LIMIT ?",
                (f"{bare}#", f"{bare}$", limit),
            ).fetchall()
        return [str(row[0]) for row in rows]

    def n_pages_with(self, terms: Sequence[str]) -> dict[str, int]:
        """How many pages hold each of `terms` (in their order); terms that stand nowhere are left out."""
        with self._reading() as connection:
            marks = ",".join("?" * len(terms))
            rows = connection.execute(f"SELECT term, n_pages FROM term WHERE term IN ({marks})", terms).fetchall()
        found = {str(term): int(n_pages) for term, n_pages in rows}
        return {term: found[term] for term in terms if term in found}

    def ranked(self, terms: Sequence[str], *, title_weight: float, count: int, offset: int) -> list[Ranked]:
        """Pages that hold any of `terms`, the best first, equal ones by URL; `count` of them after the first `offset`."""
        query = " OR ".join(f'"{term}"' for term in terms)
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT rowid, round(-bm25(page_index, ?, 1.0), 9) AS score FROM page_index WHERE page_index MATCH ? "
                "ORDER BY score DESC, rowid LIMIT ? OFFSET ?",
                (title_weight, query, count, offset),
            ).fetchall()
        return [Ranked(int(page), float(score)) for page, score in rows]

    def _one(self, statement: str, value: str | int) -> tuple[object, ...] | None:
        with self._reading() as connection:
            row: tuple[object, ...] | None = connection.execute(statement, (value,)).fetchone()
        return row

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """This thread's own connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _connect(self.path)
            self._connections.append(connection)
        try:
            yield connection
        except sqlite3.Error as error:
            raise SetupError(f"cannot read the corpus {self.path} ({error}); build it again") from error


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


class CorpusPages:
    """The pages of a corpus as fetch and find see them. Never touches the network."""

    def __init__(self, corpus: Corpus, language: Language = "ja") -> None:
        self._corpus = corpus
        self._language: Language = language

    async def get(self, url: str) -> Document:
        """The page at `url`. Raises ToolFailure not_found, naming pages nearby, where the corpus has none."""
        document = self._corpus.document(url)
        if document is not None:
            return document
        siblings = self._corpus.siblings(url, 5)
        if self._language == "ja":
            hint = f"近いURL: {' '.join(siblings)}" if siblings else "search で見つかった番号かURLを指定してください。"
            raise ToolFailure("not_found", f"このURLの文書はありません: {url}。{hint}")
        hint = f"URLs nearby: {' '.join(siblings)}" if siblings else "give a number or a URL that search has shown."
        raise ToolFailure("not_found", f"there is no document at {url}; {hint}")
