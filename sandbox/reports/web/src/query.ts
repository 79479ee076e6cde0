// The filter language; sandbox/reports/page_filter.py says the same in Python, and a test holds the two together.

import { type Row, unparsable } from "./format";

export interface Word {
  field: string;
  operator: string;
  value: string;
  negated: boolean;
}

export interface Context {
  urls: string[];
  flips: Set<string>;
  /** Names of the sessions in which each `text:` was found; a word that is not in it was not searched yet. */
  found: Map<string, Set<string>>;
  /** Questions that only one run got right, or that ended differently; by word. */
  across: Map<string, Set<string>>;
}

const WORD = /-?(?:[^\s"]*"[^"]*"?|\S+)/g;
const COMPARE = /^(f1|recall|precision|recovered|loss|rounds|tokens|seconds)(<=|>=|<|>|=)(-?\d+(?:\.\d+)?)$/;
const FIELD = /^(code|outcome|type|url|id|answer|verdict|label|cause|flag|is|text|only):([^]+)$/;
const ALONE = new Set(["flip", "contradiction", "moved", "differs"]);

export const fold = (text: string): string => text.normalize("NFKC").toLowerCase();

export function words(query: string): Word[] {
  return [...query.matchAll(WORD)].map((found) => word(found[0]));
}

function word(written: string): Word {
  const negated = written.startsWith("-") && written.length > 1;
  const body = (negated ? written.slice(1) : written).replaceAll('"', "");
  const lowered = body.toLowerCase();
  const compared = COMPARE.exec(lowered);
  if (compared) return { field: compared[1]!, operator: compared[2]!, value: compared[3]!, negated };
  const field = FIELD.exec(body) ?? FIELD.exec(lowered);
  if (field) return { field: field[1]!, operator: "", value: fold(field[2]!), negated };
  if (ALONE.has(lowered)) return { field: "is", operator: "", value: lowered, negated };
  return { field: "", operator: "", value: fold(body), negated };
}

export function matches(row: Row, query: Word[], context: Context): boolean {
  return query.every((w) => holds(row, w, context) !== w.negated);
}

/** Questions whose repeats were judged differently; by one verdict: that passed sometimes and not always. */
export function flips(rows: Row[]): Set<string> {
  const first = new Map<string, string | boolean | null>();
  const found = new Set<string>();
  for (const row of rows) {
    const end = row.decided ? row.decided.passed === true : row.answer;
    if (!first.has(row.id)) first.set(row.id, end);
    else if (first.get(row.id) !== end) found.add(row.id);
  }
  return found;
}

function holds(row: Row, w: Word, context: Context): boolean {
  if (w.operator) {
    const value = figure(row, w.field);
    return value !== null && compare(value, w.operator, Number(w.value));
  }
  switch (w.field) {
    case "":
      return fold(`${row.id} ${row.question}`).includes(w.value);
    case "code":
      return row.codes.some(([code]) => fold(code).startsWith(w.value));
    case "outcome":
      return row.outcome.includes(w.value.replaceAll(" ", "_"));
    case "type":
      return fold(row.taskType || "(none)").includes(w.value);
    case "url":
      return row.urls.some((index) => fold(context.urls[index] ?? "").includes(w.value));
    case "id":
      return fold(row.id).includes(w.value);
    case "answer":
      return (row.answer || "none").startsWith(w.value);
    case "verdict":
      return row.decided !== null && fold(row.decided.verdict || "none") === w.value;
    case "label":
      return row.decided !== null && Object.entries(row.decided.labels).some(([name, value]) => fold(w.value.includes("=") ? `${name}=${value}` : value).includes(w.value));
    case "cause":
      return row.decided !== null && fold(row.decided.cause).includes(w.value.replaceAll(" ", "_"));
    case "flag":
      return row.flags.some((flag) => flag.includes(w.value.replaceAll(" ", "_")));
    case "is":
      return is(row, w.value, context);
    case "text":
      return context.found.get(w.value)?.has(row.name) ?? true;
    case "only":
      return context.across.get(`only:${w.value}`)?.has(key(row)) ?? false;
    default:
      return true;
  }
}

export const key = (row: { id: string; repeat: number }): string => `${row.repeat}/${row.id}`;

function is(row: Row, what: string, context: Context): boolean {
  switch (what) {
    case "unparsable":
      return unparsable(row);
    case "readable":
      return (row.outcome === "answered" || row.outcome === "judge_error") && !unparsable(row);
    case "passed":
      return row.decided?.passed === true;
    case "failed":
      return row.decided?.passed === false && row.decided.verdict !== null;
    case "undecided":
      return row.decided?.passed === null && !row.decided.leftOut;
    case "judge_flip":
      return row.decided?.flipped === true;
    case "flip":
      return context.flips.has(row.id);
    case "contradiction":
      return row.contradiction > 0;
    case "moved":
    case "differs":
      return context.across.get(what)?.has(key(row)) ?? false;
    default:
      return false;
  }
}

export function figure(row: Row, name: string): number | null {
  switch (name) {
    case "f1":
      return row.f1;
    case "recall":
      return row.recall;
    case "precision":
      return row.precision;
    case "recovered":
      return row.recovered;
    case "loss":
      if (row.decided) return row.decided.leftOut ? null : row.decided.passed ? 0 : 100;
      return row.f1 === null ? null : Math.round((100 - row.f1) * 100) / 100;
    case "rounds":
      return row.rounds;
    case "tokens":
      return row.tokens;
    case "seconds":
      return row.seconds;
    default:
      return null;
  }
}

function compare(value: number, operator: string, other: number): boolean {
  switch (operator) {
    case "<":
      return value < other;
    case "<=":
      return value <= other;
    case ">":
      return value > other;
    case ">=":
      return value >= other;
    default:
      return value === other;
  }
}

/** The words of a query as they are written. */
export const asWritten = (query: string): string[] => query.match(WORD) ?? [];

/** The query with `written` added, or taken out where it stands there already. */
export function toggled(query: string, written: string): string {
  const all = asWritten(query);
  return (all.includes(written) ? all.filter((w) => w !== written) : [...all, written]).join(" ");
}

export const hasWord = (query: string, written: string): boolean => asWritten(query).includes(written);

/** The value of a field as a word of the query: quoted where it holds white space. */
export const asWord = (field: string, value: string): string => `${field}:${/\s/.test(value) ? `"${value.replaceAll('"', "")}"` : value}`;

/** Rows in the order of `sort` ("-loss": largest first). What has no figure stands last either way. */
export function sorted(rows: Row[], sort: string, delta: (row: Row) => number | null, passed: (id: string) => number = () => 0): Row[] {
  const down = sort.startsWith("-");
  const by = sort.replace(/^-/, "");
  const value = (row: Row): number | string | null => {
    switch (by) {
      case "question":
        return row.question;
      case "answer":
        return row.answer ?? "";
      case "type":
        return row.taskType ?? "";
      case "labels":
        return Object.values(row.decided?.labels ?? {}).join(" · ");
      case "outcome":
        return `${row.outcome} ${row.decided?.cause ?? ""}`;
      case "passed":
        return passed(row.id);
      case "codes":
        return row.codes.reduce((sum, [, points]) => sum + (points ?? 0), 0) + row.codes.length / 1000;
      case "gap":
        return row.recovered === null || row.f1 === null ? null : row.recovered - row.f1;
      case "delta":
        return delta(row);
      default:
        return figure(row, by);
    }
  };
  const keyed = rows.map((row, place) => ({ row, place, value: value(row) }));
  if (by === "id") return down ? [...rows].reverse() : rows;
  keyed.sort((a, b) => {
    if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null) || a.place - b.place;
    const order = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
    return (down ? -order : order) || a.place - b.place;
  });
  return keyed.map(({ row }) => row);
}
