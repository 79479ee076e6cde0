// The runs of the page, and what their questions have in common.

import { type Index, type Row, rowOf, type RunShown } from "./format";
import { type Context, flips, key } from "./query";

export interface Run {
  place: number;
  shown: RunShown;
  rows: Row[];
  byKey: Map<string, Row>;
  /** Whether citations are scored; else one verdict decides about each session. */
  cited: boolean;
  /** By question: how many of its sessions in this page passed, and how many there are. */
  attempts: Map<string, { passed: number; n: number }>;
}

export interface Runs {
  index: Index;
  all: Run[];
  names: Map<string, { title: string; severity: string; text: string }>;
}

export function open(index: Index): Runs {
  const all = index.runs.map((shown, place) => {
    const rows = shown.rows.map(rowOf);
    return { place, shown, rows, byKey: new Map(rows.map((row) => [key(row), row])), cited: shown.decisions === null, attempts: attemptsOf(rows) };
  });
  return { index, all, names: new Map(index.codes.map((page) => [page.code, page])) };
}

export const runNamed = (runs: Runs, letter: string): Run | undefined => runs.all.find((run) => run.shown.letter === letter);

function attemptsOf(rows: Row[]): Map<string, { passed: number; n: number }> {
  const found = new Map<string, { passed: number; n: number }>();
  for (const row of rows) {
    if (!row.decided) continue;
    const one = found.get(row.id) ?? { passed: 0, n: 0 };
    found.set(row.id, { passed: one.passed + Number(row.decided.passed === true), n: one.n + 1 });
  }
  return found;
}

const isRight = (row: Row | undefined): boolean => (row?.decided ? row.decided.passed === true : row?.answer === "consistent");

/** What a row is worth in points: citation F1, or 100 for an answer that passed. */
const worth = (row: Row | undefined): number | null => {
  if (!row?.decided) return row?.f1 ?? null;
  return row.decided.leftOut ? null : row.decided.passed ? 100 : 0;
};
const MOVED = 20;

/** What the question is worth in the other run minus what it is here, in points. */
export function deltaTo(other: Run | undefined): (row: Row) => number | null {
  return (row) => {
    const there = worth(other?.byKey.get(key(row)));
    const here = worth(row);
    return there === null || here === null ? null : Math.round((there - here) * 100) / 100;
  };
}

/** The run that `run` is held against: the first other one of its kind. */
export const otherOf = (runs: Runs, run: Run): Run | undefined => runs.all.find((other) => other !== run && other.cited === run.cited);

export function contextOf(runs: Runs, run: Run, found: Map<string, Set<string>>): Context {
  const across = new Map<string, Set<string>>();
  const other = otherOf(runs, run);
  if (other) {
    const pairs = run.rows.flatMap((row) => {
      const there = other.byKey.get(key(row));
      return there ? [{ row, there }] : [];
    });
    const delta = deltaTo(other);
    const moved = [...pairs].sort((a, b) => Math.abs(delta(b.row) ?? 0) - Math.abs(delta(a.row) ?? 0)).slice(0, MOVED);
    across.set("moved", new Set(moved.filter(({ row }) => (delta(row) ?? 0) !== 0).map(({ row }) => key(row))));
    across.set("differs", new Set(pairs.filter(({ row, there }) => row.outcome !== there.outcome).map(({ row }) => key(row))));
    const onlyRight = (here: Run): Set<string> =>
      new Set(
        run.rows
          .filter((row) => {
            return isRight(here.byKey.get(key(row))) && runs.all.every((each) => each === here || !isRight(each.byKey.get(key(row))));
          })
          .map(key),
      );
    for (const each of runs.all) across.set(`only:${each.shown.letter.toLowerCase()}`, onlyRight(each));
  }
  return { urls: run.shown.urls, flips: flips(run.rows), found, across };
}
