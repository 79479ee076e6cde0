"""The bridge to vcrpy: our journals in plain vcrpy, stock cassettes, foreign cassettes."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import httpx2
import pytest
import vcr
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.tape_scene import (
    CHAT,
    HTML,
    NASTY,
    PDF,
    SESSION,
    SHIFT_JIS,
    Recorded,
    page,
    record,
    record_encoded,
    replayed,
    scene,
)
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.serializers import jsonserializer, yamlserializer

from cassettes.blobs import MAX_BODY_BYTES
from cassettes.errors import TapeError, TapeExists, TapeSecret
from cassettes.exchange import Channel, TapeRequest, TapeResponse
from cassettes.importing import Imported, guessed_channel, import_cassette, read_cassette
from cassettes.naming import journal_path
from cassettes.reading import Tape
from cassettes.redact import Redactor
from cassettes.vcr import Inflating, export_vcr, playing

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "cassettes"
RECORDED = Path(__file__).resolve().parents[2] / "cassettes" / "recorded"
NO_SECRETS = Redactor(())
KEY = "sk-secret-0123456789"


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """A tape folder with one exchange of each kind, and pages that travelled encoded."""
    folder = tmp_path / "tape"
    record(folder, scene())
    record_encoded(folder)
    return folder


def loaded(journal: Path, **hooks: object) -> list[tuple[str, str, bytes, int, bytes]]:
    """Method, URI, request body, status and response body of each interaction, as plain vcrpy gives them."""
    with vcr.VCR(record_mode="none", **hooks).use_cassette(str(journal)) as cassette:
        return [
            (request.method, request.uri, request.body, response["status"]["code"], response["body"]["string"])
            for request, response in zip(cassette.requests, cassette.responses, strict=True)
        ]


def written(recorded: list[Recorded]) -> list[tuple[str, str, bytes, int, bytes]]:
    """The same of what was put on the tape; a call without a response is a 599 in other formats."""
    rows: list[tuple[str, str, bytes, int, bytes]] = []
    for one in recorded:
        status, body = (one.answer.status, one.answer.body) if isinstance(one.answer, TapeResponse) else (599, b"")
        rows.append((one.request.method, one.request.url, one.request.body, status, body))
    return rows


ENCODED = [("GET", "https://example.jp/gzip", b"", 200, HTML), ("GET", "https://example.jp/br", b"", 200, HTML)]


def test_a_journal_loads_in_plain_vcrpy_with_every_body_byte_identical(tape: Path) -> None:
    with Inflating(tape) as inflating:
        assert loaded(journal_path(tape, SESSION), after_load_interaction=inflating) == written(scene())
        assert loaded(journal_path(tape, "encoded.r0"), after_load_interaction=inflating) == ENCODED


def test_without_the_hook_a_journal_still_loads_and_large_bodies_are_references(tape: Path) -> None:
    rows = loaded(journal_path(tape, SESSION))
    assert [row[:2] for row in rows] == [row[:2] for row in written(scene())]
    assert (rows[3][4], rows[4][4]) == (b"", NASTY.encode())


def test_every_recording_of_the_package_loads_in_plain_vcrpy() -> None:
    journals = sorted(RECORDED.glob("*/tape/*.yaml"))
    assert journals
    for journal in journals:
        with Tape(journal) as tape, Inflating(journal.parent) as inflating:
            whole = [
                (one.request.method, one.request.url, one.request.body, one.response.status, one.response.body)
                for session in tape.sessions()
                for one in session.exchanges()
            ]
            assert loaded(journal, after_load_interaction=inflating) == whole


def test_clients_get_the_recorded_bytes_from_a_journal_and_nothing_else(tape: Path) -> None:
    with playing(journal_path(tape, SESSION)), httpx2.Client() as client:
        assert client.get("https://example.jp/sjis.html").content == SHIFT_JIS
        chats = [one.request.body for one in scene() if one.request.channel == "model"]
        answers = [client.post(CHAT, content=body).json()["id"] for body in reversed(chats)]
        assert answers == ["x2", "x1"]
        with pytest.raises(CannotOverwriteExistingCassetteException):
            client.get("https://example.jp/other")
    # For vcrpy no body (urllib) is not an empty one (httpx2).
    with playing(journal_path(tape, SESSION), ("method", "uri")), urlopen("https://example.jp/a.pdf") as answer:
        assert answer.read() == PDF


def test_a_torn_journal_is_cut_before_vcrpy_sees_it(tape: Path, tmp_path: Path) -> None:
    whole = journal_path(tape, SESSION).read_bytes()
    start = whole.rindex(b"\n# ") + 1
    for end in (*range(start + 1, len(whole), 61), len(whole) - 1):
        copy = tmp_path / f"copy{end}"
        shutil.copytree(tape, copy)
        journal = journal_path(copy, SESSION)
        journal.write_bytes(whole[:end])
        with playing(journal), httpx2.Client() as client:
            assert client.get("https://example.jp/a.pdf").content == PDF
        assert journal.read_bytes() == whole[:start]
        shutil.rmtree(copy)


def test_a_journal_of_which_nothing_is_whole_is_refused(tape: Path) -> None:
    journal = journal_path(tape, SESSION)
    journal.write_bytes(journal.read_bytes()[:60])
    with pytest.raises(TapeError, match="no whole interaction"), playing(journal):
        pass


def test_an_exported_stock_cassette_needs_no_hook_and_answers_clients(tape: Path, tmp_path: Path) -> None:
    with Tape(tape) as opened:
        done = export_vcr(opened.sessions(), tmp_path / "stock", NO_SECRETS)
    assert (sorted(path.name for path in done.files), done.n_exchanges) == (
        sorted(path.name for path in tape.glob("*.yaml")),
        14,
    )
    stock = tmp_path / "stock" / journal_path(tape, SESSION).name
    assert loaded(stock) == written(scene())
    assert loaded(tmp_path / "stock" / "encoded.r0.yaml") == ENCODED
    with vcr.VCR(record_mode="none").use_cassette(str(stock)), httpx2.Client() as client:
        assert client.get("https://example.jp/nasty.txt").text == NASTY
        assert client.get("https://example.jp/slow").status_code == 599
        assert urlopen("https://example.jp/sjis.html").read() == SHIFT_JIS


BODIES = st.one_of(
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=300)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(BODIES, min_size=1, max_size=8))
def test_any_bytes_come_back_from_the_hook_and_from_a_stock_cassette(bodies: list[bytes]) -> None:
    with TemporaryDirectory() as folder:
        tape, stock = Path(folder) / "tape", Path(folder) / "stock"
        record(tape, [page(f"https://example.jp/{n}", body, "text/plain") for n, body in enumerate(bodies)], "q.r0")
        with Inflating(tape) as inflating:
            assert [row[4] for row in loaded(tape / "q.r0.yaml", after_load_interaction=inflating)] == bodies
        with Tape(tape) as opened:
            export_vcr(opened.sessions(), stock, NO_SECRETS)
        assert [row[4] for row in loaded(stock / "q.r0.yaml")] == bodies


def test_an_export_never_writes_over_the_tape(tape: Path) -> None:
    before = journal_path(tape, SESSION).read_bytes()
    with Tape(tape) as opened, pytest.raises(TapeError, match="would write over the tape"):
        export_vcr(opened.sessions(), tape, NO_SECRETS)
    assert journal_path(tape, SESSION).read_bytes() == before


@pytest.mark.parametrize(
    "holding",
    [
        page(f"https://example.jp/?q={KEY}", b"", "text/plain"),
        page("https://example.jp/", f"{'長い' * 900}{KEY}".encode(), "text/plain"),
        page("https://example.jp/", b"", f"text/plain; {KEY}"),
        Recorded(TapeRequest("model", "POST", CHAT, KEY.encode()), TapeResponse(200)),
    ],
)
def test_an_export_never_contains_a_secret(holding: Recorded, tmp_path: Path) -> None:
    record(tmp_path / "tape", [holding])
    with Tape(tmp_path / "tape") as opened, pytest.raises(TapeSecret) as refused:
        export_vcr(opened.sessions(), tmp_path / "stock", Redactor([KEY]))
    assert KEY not in str(refused.value)
    assert not list((tmp_path / "stock").glob("*"))


def imported(source: Path, folder: Path, session: str = "f.r0", channel: Channel | None = None) -> Imported:
    return asyncio.run(import_cassette(source, folder, session, channel=channel, redactor=Redactor([KEY])))


def test_what_goes_out_as_stock_comes_back_and_replays_the_same(tape: Path, tmp_path: Path) -> None:
    with Tape(tape) as opened:
        export_vcr(opened.sessions(), tmp_path / "stock", NO_SECRETS)
    again = tmp_path / "again"
    done = imported(tmp_path / "stock" / journal_path(tape, SESSION).name, again)
    assert done.n_exchanges == {"model": 2, "judge": 0, "search": 1, "page": 9}
    with Tape(again) as opened:
        exchanges = [one for session in opened.sessions() for one in session.exchanges()]
    rows = [
        (one.request.method, one.request.url, one.request.body, one.response.status, one.response.body)
        for one in exchanges
    ]
    assert rows == written(scene())
    assert exchanges[7].exception == "ReadTimeout: 60秒以内に応答がありません"


FOREIGN = sorted(SHARED.glob("*.yaml")) if SHARED.is_dir() else []
needs_foreign = pytest.mark.skipif(not FOREIGN, reason="the foreign cassettes (../shared/data/cassettes) are not here")


@needs_foreign
def test_foreign_cassettes_of_vcrpy_replay_in_order_and_others_are_refused_with_a_reason(tmp_path: Path) -> None:
    refused: dict[str, str] = {}
    for path in FOREIGN:
        try:
            foreign = read_cassette(path)
        except TapeError as error:
            refused[path.name] = str(error)
            continue
        done = imported(path, tmp_path / "tape", path.stem)
        assert done.n_exchanges == {"model": len(foreign), "judge": 0, "search": 0, "page": 0}
        requests = [TapeRequest("model", one.method, one.url, one.body, one.headers) for one in foreign]
        answers = replayed(tmp_path / "tape", path.stem, requests)
        assert [(one.status, one.body) for one in answers] == [
            (one.response.status, one.response.body) for one in foreign
        ]
    assert {name.partition("__")[0] for name in refused} == {"pydantic-ai"}
    assert len(refused) == 9
    assert len(FOREIGN) - len(refused) == 4
    for name, said in refused.items():
        assert said.startswith(
            f"{SHARED / name} was not written by a serializer of vcrpy's own: a request in it has `parsed_body`"
        )


@needs_foreign
def test_an_imported_conversation_is_answered_over_the_sealed_transport(tmp_path: Path) -> None:
    from cassettes.context import on_channel, taping
    from cassettes.modes import Modes
    from cassettes.tape import TapeSet
    from cassettes.transport import TapeTransport

    source = SHARED / "llm__test_tools__test_tool_use_chain_of_two_calls.yaml"
    foreign = read_cassette(source)
    imported(source, tmp_path / "tape")

    async def ask() -> list[bytes]:
        with TapeSet(tmp_path / "tape", Modes.sealed()) as tapes, tapes.session("f.r0") as tape, taping(tape):
            async with httpx2.AsyncClient(transport=TapeTransport(None)) as client:
                with on_channel("model"):
                    answers = [
                        await client.post("http://127.0.0.1:9/v1/chat/completions", content=one.body) for one in foreign
                    ]
        return [answer.content for answer in answers]

    answers = asyncio.run(ask())
    assert answers == [one.response.body for one in foreign]
    assert [json.loads(answer)["choices"][0]["finish_reason"] for answer in answers] == [
        "tool_calls",
        "tool_calls",
        "stop",
    ]


STOCK = {
    "version": 1,
    "interactions": [
        {
            "request": {
                "method": "GET",
                "uri": "https://example.jp/条例?key=abc",
                "body": None,
                "headers": {"Authorization": [f"Bearer {KEY}"], "Accept": ["text/html"], "Cookie": ["a=b"]},
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"Content-Type": ["text/plain; charset=utf-8"], "Set-Cookie": ["a=b"]},
                "body": {"string": NASTY},
            },
        },
        {
            "request": {"method": "POST", "uri": CHAT, "body": '{"model":"m","messages":[]}', "headers": {}},
            "response": {
                "status": {"code": 429, "message": "Too Many Requests"},
                "headers": {"retry-after": ["2"]},
                "body": {"string": "待って"},
            },
        },
    ],
}


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_yaml_and_json_are_imported_alike_without_headers_that_carry_keys(suffix: str, tmp_path: Path) -> None:
    source = tmp_path / f"foreign{suffix}"
    serializer = jsonserializer if suffix == ".json" else yamlserializer
    source.write_text(serializer.serialize(STOCK), encoding="utf-8")
    done = imported(source, tmp_path / "tape")
    assert done.n_exchanges == {"model": 1, "judge": 0, "search": 0, "page": 1}
    text = done.journal.read_text(encoding="utf-8")
    assert not any(word in text for word in (KEY, "Authorization", "authorization", "cookie", "key=abc"))
    with Tape(tmp_path / "tape") as opened:
        found = [one for session in opened.sessions() for one in session.exchanges()]
    assert [(one.response.status, one.response.body) for one in found] == [
        (200, NASTY.encode()),
        (429, "待って".encode()),
    ]
    assert found[0].request.headers == ((b"accept", b"text/html"),)
    assert found[1].response.headers == ((b"retry-after", b"2"),)


def test_bodies_are_decoded_on_import_and_left_alone_where_they_were_decoded_before(tmp_path: Path) -> None:
    def interaction(body: bytes) -> dict[str, object]:
        headers = {"Content-Encoding": ["gzip"], "Content-Type": ["text/html"]}
        answer = {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": {"string": body}}
        return {
            "request": {"method": "GET", "uri": "https://example.jp/", "body": "", "headers": {}},
            "response": answer,
        }

    source = tmp_path / "foreign.yaml"
    cassette = {"version": 1, "interactions": [interaction(gzip.compress(HTML)), interaction(HTML)]}
    source.write_text(yamlserializer.serialize(cassette), encoding="utf-8")
    assert [one.response for one in read_cassette(source)] == [
        TapeResponse(200, ((b"Content-Type", b"text/html"),), HTML),
        TapeResponse(200, ((b"Content-Type", b"text/html"),), HTML),
    ]


def test_what_early_vcrpy_wrote_for_httpx_is_read_too(tmp_path: Path) -> None:
    source = tmp_path / "early.yaml"
    source.write_text(
        "interactions:\n- request: {method: GET, uri: 'https://example.jp/', body: '', headers: {}}\n"
        "  response: {status_code: 200, http_version: HTTP/1.1, headers: {content-type: [text/plain]}, content: 条例}\n",
        encoding="utf-8",
    )
    assert [one.response for one in read_cassette(source)] == [
        TapeResponse(200, ((b"content-type", b"text/plain"),), "条例".encode())
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("interactions: [", "is no cassette that vcrpy can read"),
        ("a: &a [1]\nb: !!python/object/apply:os.system [ls]", "is no cassette that vcrpy can read"),
        ("- request: {}\n  response: {}", "before 1.0"),
        ("just: yaml", "is no cassette of vcrpy"),
        ("interactions: []", "holds no interaction"),
        (
            "interactions:\n- request: {method: GET, uri: u, body: {a: 1}, headers: {}}\n  response: {status: {code: 200}}",
            "body",
        ),
    ],
)
def test_what_is_no_cassette_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "x.yaml"
    source.write_text(text, encoding="utf-8")
    with pytest.raises(TapeError, match=said):
        read_cassette(source)


def test_a_journal_of_ours_is_not_imported_as_foreign(tape: Path) -> None:
    with pytest.raises(TapeError, match="a journal of pincite already"):
        read_cassette(journal_path(tape, SESSION))


def test_an_import_is_whole_or_not_there(tmp_path: Path) -> None:
    source = tmp_path / "foreign.json"
    holding = {
        **STOCK["interactions"][0],
        "response": {"status": {"code": 200}, "headers": {}, "body": {"string": KEY}},
    }  # type: ignore[index,dict-item]
    source.write_text(json.dumps({"version": 1, "interactions": [*STOCK["interactions"], holding]}), encoding="utf-8")  # type: ignore[misc]
    with pytest.raises(TapeSecret):
        imported(source, tmp_path / "tape")
    assert not list((tmp_path / "tape").glob("*.yaml"))
    source.write_text(json.dumps(STOCK), encoding="utf-8")
    imported(source, tmp_path / "tape")
    before = journal_path(tmp_path / "tape", "f.r0").read_bytes()
    with pytest.raises(TapeExists):
        imported(source, tmp_path / "tape")
    assert journal_path(tmp_path / "tape", "f.r0").read_bytes() == before


@pytest.mark.parametrize(
    ("method", "url", "body", "channel"),
    [
        ("POST", CHAT, '{"model": "m", "messages": []}', "model"),
        ("POST", "https://api.openai.com/v1/responses", '{"model": "m", "input": "東京"}', "model"),
        ("GET", "https://api.search.brave.com/res/v1/web/search?q=東京", "", "search"),
        ("POST", "https://api.tavily.com/search", '{"query": "東京"}', "search"),
        ("GET", "https://example.jp/search?q=東京", "", "search"),
        ("GET", "https://example.jp/search", "", "page"),
        ("GET", "https://example.jp/条例", "", "page"),
    ],
)
def test_the_channel_of_a_foreign_exchange_is_guessed_from_its_request(
    method: str, url: str, body: str, channel: str, tmp_path: Path
) -> None:
    source = tmp_path / "foreign.json"
    request = {"method": method, "uri": url, "body": body, "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}}
    source.write_text(json.dumps({"interactions": [{"request": request, "response": response}]}), encoding="utf-8")
    assert [guessed_channel(one) for one in read_cassette(source)] == [channel]


def test_a_body_that_unpacks_without_end_is_not_imported(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for _ in range(MAX_BODY_BYTES // 2**24 + 1):
            file.write(bytes(2**24))
    headers = {"content-encoding": ["gzip, gzip"]}
    answer = {"status": {"code": 200, "message": "OK"}, "headers": headers}
    asked = {"method": "GET", "uri": "https://example.jp/", "body": "", "headers": {}}
    body = {"string": gzip.compress(packed.getvalue())}
    source = tmp_path / "foreign.yaml"
    cassette = {"version": 1, "interactions": [{"request": asked, "response": {**answer, "body": body}}]}
    source.write_text(yamlserializer.serialize(cassette), encoding="utf-8")
    with pytest.raises(TapeError, match="unpacks to more than 536870912: nothing is imported"):
        imported(source, tmp_path / "tape")


def test_a_cassette_that_repeats_itself_by_aliases_is_not_imported(tmp_path: Path) -> None:
    source = tmp_path / "foreign.yaml"
    body = "字" * 1_000_000
    first = (
        f"- &a\n  request: {{method: GET, uri: 'https://example.jp/', body: '', headers: {{}}}}\n"
        f"  response: {{status: {{code: 200, message: OK}}, headers: {{}}, body: {{string: '{body}'}}}}\n"
    )
    source.write_text("version: 1\ninteractions:\n" + first + "- *a\n" * 1_000, encoding="utf-8")
    with pytest.raises(TapeError, match="over and over by YAML aliases"):
        imported(source, tmp_path / "tape")
