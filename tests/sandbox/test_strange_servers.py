"""A run folder of a stranger names servers and variables: no key goes there unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cli.main import run
from sandbox.replaying.strange_servers import check_servers
from sandbox.settings import resolve, servers_named
from tests.sandbox.conftest import Output, answered, write_run
from tools.tool import SetupError

THEIRS = "https://judge.example/v1"
STRANGE = resolve(
    "tmg-cqa-tool",
    {},
    None,
    {
        "judge.name": "判定者",
        "judge.base_url": THEIRS,
        "judge.api_key_env": "AWS_SECRET_ACCESS_KEY",
        "search.brave_base_url": "https://search.example",
    },
)
KEYS = {"AWS_SECRET_ACCESS_KEY": "秘密の鍵です", "BRAVE_API_KEY": "もう一つの鍵"}


def test_a_key_goes_to_no_server_that_only_the_recorded_run_names() -> None:
    with pytest.raises(SetupError) as refused:
        check_servers(STRANGE, (), {"model", "judge"}, KEYS)
    assert str(refused.value) == (
        f"the key in AWS_SECRET_ACCESS_KEY would go to {THEIRS}, which only the recorded run names: "
        f"say --judge-base-url {THEIRS} if it may, or unset AWS_SECRET_ACCESS_KEY"
    )


def test_a_search_key_goes_to_no_strange_server_either() -> None:
    with pytest.raises(SetupError, match=r"the key in BRAVE_API_KEY would go to https://search\.example, which only"):
        check_servers(STRANGE, (THEIRS,), {"judge", "web"}, KEYS)


def test_a_server_that_the_user_names_gets_the_key(tmp_path: Path) -> None:
    check_servers(STRANGE, servers_named(None, {"judge.base_url": THEIRS}), {"judge"}, KEYS)
    file = tmp_path / "設定.toml"
    file.write_text(f'[judge]\nbase_url = "{THEIRS}"\n', encoding="utf-8")
    check_servers(STRANGE, servers_named(file, {}), {"judge"}, KEYS)


def test_without_a_key_or_a_call_there_is_nothing_to_lose() -> None:
    check_servers(STRANGE, (), {"model", "judge", "web"}, {})
    check_servers(STRANGE, (), {"model"}, KEYS)


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.0.0.1.example/v1", False),
        ("http://10.0.0.5:8000/v1", False),
    ],
)
def test_a_server_on_this_machine_is_the_users_own(url: str, is_here: bool) -> None:
    settings = resolve("tmg-cqa-tool", {}, None, {"judge.name": "j", "judge.base_url": url})
    if is_here:
        check_servers(settings, (), {"judge"}, {"OPENAI_API_KEY": "鍵"})
    else:
        with pytest.raises(SetupError, match="the key in OPENAI_API_KEY would go to"):
            check_servers(settings, (), {"judge"}, {"OPENAI_API_KEY": "鍵"})


@pytest.mark.parametrize("options", [["--judge", "別の判定者"], ["--recovered"]])
def test_judging_a_strangers_run_again_sends_their_server_no_key(
    tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "秘密の鍵です")
    folder = write_run(tmp_path / "run", [answered()], STRANGE)
    (folder / "samples.jsonl").touch()
    (folder / "tape").mkdir()
    (folder / "tape" / "q.yaml").touch()
    assert run(["score", str(folder), *options]) == 2
    assert f"the key in AWS_SECRET_ACCESS_KEY would go to {THEIRS}, which only" in output().err
