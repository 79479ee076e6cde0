"""The floor on which everything stands imports nothing of ours, and of others only pydantic."""

import ast
import sys
from pathlib import Path

import citations

ALLOWED = {"citations", "pydantic"}


def imported_packages(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "citations").partition(".")[0])
    return found


def test_citations_imports_only_the_standard_library_and_pydantic() -> None:
    room = Path(citations.__file__).parent
    foreign = {
        f"{path.name}: {package}"
        for path in sorted(room.rglob("*.py"))
        for package in imported_packages(path.read_text(encoding="utf-8")) - ALLOWED - sys.stdlib_module_names
    }
    assert foreign == set()


def test_citations_knows_no_network_clock_or_random_module() -> None:
    room = Path(citations.__file__).parent
    impure = {"socket", "time", "datetime", "random", "os", "subprocess", "asyncio", "logging", "urllib", "pathlib"}
    assert {
        f"{path.name}: {package}"
        for path in sorted(room.rglob("*.py"))
        for package in imported_packages(path.read_text(encoding="utf-8")) & impure
    } == set()
