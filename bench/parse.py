"""How fast the strict reading is: an ordinary answer, and a megabyte of each pattern that makes careless parsers quadratic.

    uv run python bench/parse.py

Prints one JSON line: CPU milliseconds, best of five.
"""

import json
import time

from citations.longbench_reading import read_statements
from citations.markup import LONGCITE, TAGS, Dialect, parse, plamo, untagged

N_CHARS = 1_000_000

ORDINARY = "\n".join(
    f"<sentence>私立高校等の授業料支援の所得制限は撤廃された（{n}）。<cite>{n}</cite><cite>{n + 1}</cite></sentence>"
    for n in range(1, 31)
)

HOSTILE = {
    "sentence_opens": "<sentence>",
    "cite_opens": "<cite>",
    "mixed_opens": "<sentence><cite>",
    "reopened": "<sentence>文<cite>1</sentence><cite>",
    "sentences": "<sentence>文<cite>1</cite></sentence>",
    "closes": "</sentence></cite>",
    "angle_brackets": "<",
}


def best_ms(raw: str, dialect: Dialect) -> float:
    spent: list[float] = []
    for _ in range(5):
        start = time.process_time()
        parse(raw, dialect)
        spent.append(time.process_time() - start)
    return round(min(spent) * 1000, 3)


def other_ms() -> dict[str, float]:
    """The other readers of raw text, each on the pattern that is worst for a regular expression."""
    statements = "<statement>" + "<cite>" * (N_CHARS // 6) + "</statement>"
    sentences = HOSTILE["reopened"] * (N_CHARS // len(HOSTILE["reopened"]))
    answer = parse(sentences)
    start = time.process_time()
    read_statements(statements, ["第一文。"])
    middle = time.process_time()
    untagged(answer)
    end = time.process_time()
    return {"longbench_statements": round((middle - start) * 1000, 3), "untagged": round((end - middle) * 1000, 3)}


def main() -> None:
    names = plamo()
    in_plamo = {"begin_sentence": names.sentence_open, "begin_cite": names.cite_open}
    result = {
        "bench": "parse",
        "n_chars": N_CHARS,
        "ordinary_30_sentences_ms": best_ms(ORDINARY, TAGS),
        "tags_ms": {name: best_ms(piece * (N_CHARS // len(piece)), TAGS) for name, piece in HOSTILE.items()},
        "plamo_ms": {tag: best_ms(opening * (N_CHARS // len(opening)), names) for tag, opening in in_plamo.items()},
        "longcite_ms": best_ms("<statement><cite>" * (N_CHARS // 17), LONGCITE),
        "others_ms": other_ms(),
    }
    print(json.dumps(result, sort_keys=True))


if __name__ == "__main__":
    main()
