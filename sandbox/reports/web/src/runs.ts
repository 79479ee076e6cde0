// The runs of the page, and what their questions have in common.

import { type Index, type Row, rowOf, type RunShown } from "./format";
import { type Context, flips, key } from "./query";

export interface Run {
  place: number;
  shown: RunShown;
  rows: Row[];
  byKey: Map<string, Row>;
}

export interface Runs {
  index: Index;
  all: Run[];
  names: Map<string, { title: string; severity: string; text: string }>;
}

export function open(index: Index): Runs {
  const all = index.runs.map((shown, place) => {
    const rows = shown.rows.map(rowOf);
    return { place, shown, rows, byKey: new Map(rows.map((row) => [key(row), row])) };
  });
  return { index, all, names: new Map(index.codes.map((page) => [page.code, page])) };
}

export const runNamed = (runs: Runs, letter: string): Run | undefined => runs.all.find((run) => run.shown.letter === letter);

const RIGHT = "consistent";
const MOVED = 20;

/** F1 in the other run minus F1 of the row, in points. */
export function deltaTo(other: Run | undefined): (row: Row) => number | null {
  return (row) => {
    const there = other?.byKey.get(key(row));
    return there?.f1 === undefined || there.f1 === null || row.f1 === null ? null : Math.round((there.f1 - row.f1) * 100) / 100;
  };
}

/** The run that `run` is held against: the first other one. */
export const otherOf = (runs: Runs, run: Run): Run | undefined => runs.all.find((other) => other !== run);

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
            const mine = here.byKey.get(key(row));
            return mine?.answer === RIGHT && runs.all.every((each) => each === here || each.byKey.get(key(row))?.answer !== RIGHT);
          })
          .map(key),
      );
    for (const each of runs.all) across.set(`only:${each.shown.letter.toLowerCase()}`, onlyRight(each));
  }
  return { urls: run.shown.urls, flips: flips(run.rows), found, across };
}
