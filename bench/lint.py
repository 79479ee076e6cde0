"""How fast the citation-format debugger is: real answers where there are some, and a megabyte of each hostile pattern.

    uv run python bench/lint.py [--answers ../shared/data/answers/answers.jsonl]

Prints one JSON line: CPU milliseconds, best of five. `lint_ms` is an answer's findings and strict reading,
`lint_and_recovered_ms` the recovered reading too (which is made when it is first asked for).
"""

import argparse
import json
import time
from pathlib import Path

from citations.lint import lint
from citations.markup import LONGCITE, TAGS, Dialect

N_CHARS = 1_000_000
ORDINARY = "\n".join(
    f"<sentence>私立高校等の授業料支援の所得制限は撤廃された（{n}）。<cite>{n}</cite><cite>{n + 1}</cite></sentence>"
    for n in range(1, 31)
)
FAULTY = ORDINARY.replace("<cite>1", "<Cite>資料1").replace("<cite>2", "<cite>[2]").replace("</sentence>\n", "\n")
HOSTILE = {
    "sentence_opens": "<sentence>",
    "cite_opens": "<cite>",
    "misspelt": "<Sentence>",
    "sentences": "<sentence>文<cite>1</cite></sentence>",
    "nearly_cites": "<ref>1",
    "angle_brackets": "<",
    "entities": "&lt;",
    "half_tokens": "<|plamo:begin_",
    "marks": "[1]",
    "half_links": "[1](a",
    "brackets": "[",
    "sentence_ends": "。",
    "questions": "! ",
    "spaces": "　",
    "fences": "```\n",
    "lists": "<cite>1,",
    "control": "\x00",
}
Answers = list[tuple[str, Dialect]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=Path, default=Path("../shared/data/answers/answers.jsonl"))
    file = parser.parse_args().answers
    made: dict[str, object] = {
        "bench": "lint",
        "ordinary_30_sentences": figures([(ORDINARY, TAGS)]),
        "faulty_30_sentences": figures([(FAULTY, TAGS)]),
        "hostile_1_mb_ms": {
            name: cpu_ms([(piece * (N_CHARS // len(piece)), TAGS)], recovered=True) for name, piece in HOSTILE.items()
        },
    }
    if file.exists():
        texts = [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
        real = [(text, LONGCITE if "<statement>" in text else TAGS) for text in texts]
        made["real_answers"] = figures(real) | {"n": len(real), "mean_chars": sum(map(len, texts)) // len(texts)}
    print(json.dumps(made, sort_keys=True))


def figures(answers: Answers) -> dict[str, float]:
    """Milliseconds an answer, on average."""
    return {
        "lint_ms": best_ms(answers, recovered=False),
        "lint_and_recovered_ms": best_ms(answers, recovered=True),
    }


def best_ms(answers: Answers, *, recovered: bool) -> float:
    return round(min(cpu_ms(answers, recovered=recovered) for _ in range(5)) / len(answers), 4)


def cpu_ms(answers: Answers, *, recovered: bool) -> float:
    start = time.process_time()
    for text, dialect in answers:
        report = lint(text, dialect, finish_reason="stop")
        if recovered:
            _ = report.recovered
    return round((time.process_time() - start) * 1000, 3)


if __name__ == "__main__":
    main()
