"""Settings: defaults as published, file and flags, refusals in one line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sandbox.settings import as_toml, resolve
from tools.tool import SetupError


def test_defaults_are_the_published_ones() -> None:
    settings = resolve("tmg-cqa-tool", {}, None, {})
    assert settings.model.decode.model_dump(exclude={"omit"}) == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }
    assert (settings.model.max_output_tokens, settings.model.context_tokens) == (16_384, 262_144)
    assert (settings.limits.rounds, settings.judge.max_output_tokens, settings.judge.thinking) == (30, 2_048, False)


def test_flags_win_over_the_file_and_the_file_over_the_benchmark(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('concurrency = 4\n[model]\nname = "東京モデル"\n[model.decode]\ntop_k = 40\n', encoding="utf-8")
    settings = resolve("sample", {"concurrency": 2, "repeats": 3}, file, {"model.decode.top_k": 1, "limit": None})
    assert (settings.concurrency, settings.repeats, settings.model.decode.top_k) == (4, 3, 1)
    assert settings.model.name == "東京モデル"


@pytest.mark.parametrize("role", ["model", "judge"])
def test_an_embedded_name_is_not_asked_of_the_server_that_a_recorded_run_names(tmp_path: Path, role: str) -> None:
    """A server that takes any name would answer as "baseline", and its figures be taken for the baseline's."""
    base = tmp_path / "run.toml"
    base.write_text(f'[{role}]\nname = "東京モデル"\nbase_url = "http://10.0.0.5/v1"\n', encoding="utf-8")

    def server(flags: dict[str, object]) -> str | None:
        settings = resolve("sample", {}, None, flags, base)
        return settings.model.base_url if role == "model" else settings.judge.base_url

    assert server({f"{role}.name": "baseline"}) is None
    assert server({f"{role}.name": "大阪モデル"}) == "http://10.0.0.5/v1"
    assert server({f"{role}.name": "baseline", f"{role}.base_url": "http://10.0.0.6/v1"}) == "http://10.0.0.6/v1"


def test_what_is_written_to_run_toml_reads_back_as_the_same_settings(tmp_path: Path) -> None:
    flags: dict[str, object] = {"model.extra_body": {"seed": 1, "a": {"b": [1, "二"]}}, "fetch.domains": ["example.jp"]}
    settings = resolve("sample", {}, None, flags)
    (tmp_path / "run.toml").write_text(as_toml(settings), encoding="utf-8")
    assert resolve("", {}, tmp_path / "run.toml", {}) == settings
    groups = tomllib.loads(as_toml(settings))
    names = {name for group in groups.values() if isinstance(group, dict) for name in group if "key" in name}
    assert names == {"api_key_env", "brave_key_env"}


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"model.temprature": 1}, r"there is no setting model\.temprature; the run\.toml of any run names all of them"),
        ({"model.decode.temperature": -1}, r"setting model\.decode\.temperature: .*greater than or equal to 0"),
        ({"citations.dialect": "longcite"}, r"setting citations\.dialect: Input should be 'tags' or 'plamo'"),
        ({"model.base_url": "http://u:p@h.example/v1"}, "^a base URL must not hold a name, a key or a query"),
        ({"judge.base_url": "http://h.example/v1?api_key=k"}, "^a base URL must not hold a name, a key or a query"),
        ({"search.brave_base_url": "https://u:p@h.example"}, "^a base URL must not hold a name, a key or a query"),
        ({"search.engine": "local"}, r"--search local needs --corpus DIR"),
        ({"limit.x": 1}, r"setting limit"),
        ({"model": 3}, r"setting model: expected a table"),
        ({"model.decode": 3}, r"setting model\.decode: expected a table"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_wrong(flags: dict[str, object], sentence: str) -> None:
    with pytest.raises(SetupError, match=sentence):
        resolve("tmg-cqa-tool", {}, None, flags)


def test_a_settings_file_that_is_no_toml_or_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("model = ", encoding="utf-8")
    with pytest.raises(SetupError, match=r"s\.toml is not valid TOML"):
        resolve("sample", {}, tmp_path / "s.toml", {})
    with pytest.raises(SetupError, match=r"cannot read the settings file .*none\.toml: No such file"):
        resolve("sample", {}, tmp_path / "none.toml", {})
