"""Where a data file may be, and that what comes from the hub is pinned to a commit."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.hub_server import HubScene, serving

from sandbox.benchmarks.table import benchmark_named
from sandbox.loading.locate import Located, locate, located
from sandbox.settings import resolve
from tools.tool import SetupError

needs_hub = pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is in the extra `hub`"
)
REPO = "someone/J-Dialogues"
OLD, NEW = "0" * 39 + "1", "0" * 39 + "2"
ROWS_OLD, ROWS_NEW = '{"問": "一"}\n'.encode(), '{"問": "二"}\n'.encode()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubScene]:
    rest = {"README.md": b"# J", ".gitattributes": b"", "dataset_infos.json": b"{}"}
    scene = HubScene(
        commits={
            REPO: {
                OLD: {"data/test.jsonl": ROWS_OLD, **rest},
                NEW: {"data/test.jsonl": ROWS_NEW, **rest},
            },
            "someone/two": {NEW: {"a.parquet": b"", "b/c.json": b"", "x.bin": b""}},
            "someone/none": {NEW: {"README.md": b""}},
            "someone/locked": {NEW: {"rows.jsonl": ROWS_NEW}},
        },
        refs={
            REPO: {"main": NEW, "v1": OLD},
            "someone/two": {"main": NEW},
            "someone/none": {"main": NEW},
            "someone/locked": {"main": NEW},
        },
        gated=frozenset(("someone/locked",)),
    )
    with serving(scene):
        monkeypatch.setenv("HF_ENDPOINT", scene.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "キャッシュ"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield scene


def refusal(spec: str) -> str:
    with pytest.raises(SetupError) as error:
        located(spec)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_a_path_is_taken_as_it_stands_whether_it_is_there_or_not() -> None:
    assert located("データ/問題.jsonl") == Located(Path("データ/問題.jsonl"), "データ/問題.jsonl", None)


def test_a_bundled_file_is_named_as_such_whatever_folder_it_is_in() -> None:
    found = located("mini:multichallenge.jsonl")
    assert found == Located(locate("mini:multichallenge.jsonl"), "mini:multichallenge.jsonl", None)
    assert found.path.is_file()


@pytest.mark.parametrize("name", ["nothing.jsonl", "../table.py", "", "/etc/hosts"])
def test_only_bundled_files_have_the_name_mini(name: str) -> None:
    message = refusal(f"mini:{name}")
    assert message.startswith(f"mini:{name}: no such file comes with pincite; there are: ")
    assert "multichallenge.jsonl" in message


@pytest.mark.parametrize("spec", ["hf:", "hf:name", "hf:a/b/c", "hf:a/b@", "hf:a/b:", "hf:../b", "hf:a b/c"])
def test_what_names_no_data_set_of_the_hub_is_refused(spec: str) -> None:
    assert refusal(spec) == f"{spec} is no data set of the hub: write hf:OWNER/NAME, hf:OWNER/NAME@REVISION:FILE"


def test_without_the_library_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert refusal("hf:someone/J-Dialogues") == (
        "reading hf:OWNER/NAME needs huggingface_hub: pip install 'pincite[hub]' (in a checkout: uv run --extra hub …), "
        "or download the file and name its path"
    )


@needs_hub
def test_the_one_data_file_of_the_default_branch_is_read_and_pinned_to_its_commit(hub: HubScene) -> None:
    found = located(f"hf:{REPO}")
    assert found == Located(found.path, f"hf:{REPO}@{NEW}:data/test.jsonl", NEW)
    assert found.path.read_bytes() == ROWS_NEW


@needs_hub
@pytest.mark.parametrize("spec", [f"hf:{REPO}@v1", f"hf:{REPO}@{OLD}", f"hf:{REPO}@{OLD}:data/test.jsonl"])
def test_a_revision_by_tag_or_commit_is_the_same_file(hub: HubScene, spec: str) -> None:
    found = located(spec)
    assert found.source == f"hf:{REPO}@{OLD}:data/test.jsonl"
    assert found.path.read_bytes() == ROWS_OLD


@needs_hub
def test_what_was_pinned_once_is_read_again_without_a_request(hub: HubScene) -> None:
    first = located(f"hf:{REPO}")
    n_asked = len(hub.asked)
    hub.refs[REPO]["main"] = OLD
    assert located(first.source) == first
    assert len(hub.asked) == n_asked


@needs_hub
def test_a_branch_that_moved_gives_the_new_commit(hub: HubScene) -> None:
    assert located(f"hf:{REPO}").revision == NEW
    hub.refs[REPO]["main"] = OLD
    assert located(f"hf:{REPO}").revision == OLD


@needs_hub
def test_a_commit_that_is_none_is_not_used_as_one(hub: HubScene) -> None:
    out = "../../../外/x"
    hub.commits[REPO][out] = hub.commits[REPO][NEW]
    hub.refs[REPO]["main"] = out
    assert refusal(f"hf:{REPO}") == f"hf:{REPO}: the hub does not say which commit this is; name one: @COMMIT"


@needs_hub
def test_of_several_data_files_one_must_be_named(hub: HubScene) -> None:
    assert refusal("hf:someone/two") == (
        "hf:someone/two holds 2 data files: name one with :FILE; there are: a.parquet, b/c.json"
    )
    assert located("hf:someone/two:b/c.json").source == f"hf:someone/two@{NEW}:b/c.json"


@needs_hub
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "hf:someone/none",
            "hf:someone/none holds no JSON Lines, JSON or Parquet file: name one with :FILE; there are: README.md",
        ),
        ("hf:someone/two:d.json", "hf:someone/two has no file d.json; it holds: a.parquet, b/c.json, x.bin"),
        (
            "hf:someone/absent",
            "hf:someone/absent: there is no such data set, or it is private: check the name, or set HF_TOKEN",
        ),
        (
            f"hf:{REPO}@v9",
            f"hf:{REPO}@v9: there is no such revision: leave @REVISION out, or name a branch, tag or commit",
        ),
        (
            "hf:someone/locked",
            "hf:someone/locked: access is gated: accept its terms on its page, then set HF_TOKEN to a token that may "
            "read it",
        ),
    ],
)
def test_what_the_hub_refuses_is_said_in_one_line(hub: HubScene, spec: str, message: str) -> None:
    assert refusal(spec) == message


@needs_hub
def test_a_hub_that_is_not_there_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert refusal(f"hf:{REPO}") == (
        f"hf:{REPO}: the hub cannot be reached, or has no such file; with @COMMIT:FILE a file that was downloaded before "
        "is read without the network"
    )


@needs_hub
def test_the_tool_version_names_the_commit_that_its_questions_come_from(hub: HubScene) -> None:
    rows = '{"id": "一", "question": "いつですか。", "reference": "月曜日です。"}\n'.encode()
    hub.commits[REPO][NEW]["data/test.jsonl"] = rows
    chosen = benchmark_named("tmg-cqa-tool")
    settings = resolve(chosen.name, chosen.defaults, None, {"data": f"hf:{REPO}"})
    assert chosen.load(settings, None).path == f"hf:{REPO}@{NEW}:data/test.jsonl"
