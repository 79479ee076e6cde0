// Every question in one real table: search, chips, sorting, links. Rows beyond the first hundred are drawn when idle.

import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dumbbell } from "./charts";
import { DecidedHead, DecidedLine } from "./decided";
import { type Row, unparsable } from "./format";
import { type Column, SortedHead } from "./head";
import { go, hashOf, NOWHERE, openQuestion } from "./nav";
import { Code, Glyph, Key, Panel, save } from "./parts";
import type { Place } from "./place";
import { asWord, asWritten, type Context, fold, hasWord, key, matches, sorted, toggled, words } from "./query";
import { contextOf, deltaTo, otherOf, type Run, type Runs } from "./runs";
import { Missing, read } from "./sessions";
import { langOf, plain, Text, visible } from "./text";
import { answerSign, count, OUTCOMES, points, signed, spaced } from "./words";

const FIRST_ROWS = 100;
const ALL_ROWS = 2000;
const PAGE_ROWS = 500;

/** What `text:` found, kept for the life of the page: by run, by words. */
const FOUND = new Map<string, Map<string, Set<string>>>();

export function foundIn(run: Run): Map<string, Set<string>> {
  const letter = run.shown.letter;
  let found = FOUND.get(letter);
  if (!found) FOUND.set(letter, (found = new Map()));
  return found;
}

/** The rows that the place's filter lets through, in its order: also what next and previous step through. */
export function filtered(runs: Runs, run: Run, place: Pick<Place, "q" | "sort">, context: Context): Row[] {
  const query = words(place.q);
  return sorted(
    run.rows.filter((row) => matches(row, query, context)),
    place.sort,
    deltaTo(otherOf(runs, run)),
    (id) => run.attempts.get(id)?.passed ?? 0,
  );
}

export function Questions({ runs, run, place }: { runs: Runs; run: Run; place: Place }): VNode {
  const [searches, setSearches] = useState(0);
  const context = useMemo(() => contextOf(runs, run, foundIn(run)), [runs, run, searches]);
  const rows = useMemo(() => filtered(runs, run, place, context), [runs, run, place.q, place.sort, context]);
  const drawn = useDrawn(rows);
  const [page, setPage] = useState(0);
  useEffect(() => setPage(0), [rows]);
  const paged = rows.length > ALL_ROWS;
  const shown = paged ? rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS) : rows.slice(0, drawn);
  const total = run.rows.length;
  return (
    <Panel
      title="Questions"
      cls="questions scrolls"
      about={<span id="count" role="status" aria-live="polite">{count(rows.length)} of {count(total)}</span>}
      tools={<Search runs={runs} run={run} q={place.q} onSearched={() => setSearches((n) => n + 1)} />}
    >
      <Chips runs={runs} run={run} q={place.q} />
      <div class="scroll" tabIndex={0} role="region" aria-label="rows">
        <table class={`qt pick ${run.cited ? "" : "decided"}`}>
          {run.cited ? <SortedHead columns={columns(runs, run)} sort={place.sort} /> : <DecidedHead runs={runs} run={run} sort={place.sort} />}
          <tbody>
            {shown.map((row) => (row.decided ? <DecidedLine key={row.name} runs={runs} run={run} row={row} /> : <Line key={row.name} runs={runs} run={run} row={row} />))}
          </tbody>
        </table>
        {rows.length === 0 ? (
          <p class="nothing">
            {total === 0 ? "No session is in this page." : "No question fits. "}
            {place.q ? <button type="button" class="button" onClick={() => go({ q: "" })}>show all {count(total)}</button> : null}
          </p>
        ) : null}
      </div>
      <footer class="small mute">
        {paged ? (
          <nav class="pages" aria-label="Pages of the table">
            <button type="button" class="button" disabled={page === 0} onClick={() => setPage(page - 1)}>previous 500</button>
            <span>{count(page * PAGE_ROWS + 1)}–{count(Math.min(rows.length, (page + 1) * PAGE_ROWS))} of {count(rows.length)}</span>
            <button type="button" class="button" disabled={(page + 1) * PAGE_ROWS >= rows.length} onClick={() => setPage(page + 1)}>next 500</button>
          </nav>
        ) : null}
        <span class="grow" />
        <span>these rows:</span>
        <button type="button" class="button" onClick={() => save(`${run.shown.name}.csv`, "text/csv;charset=utf-8", [csv(rows, run)])}>CSV</button>
        <button type="button" class="button" onClick={() => save(`${run.shown.name}.json`, "application/json", [json(rows, run)])}>JSON</button>
      </footer>
    </Panel>
  );
}

/** How many rows are in the document: a hundred at once, the rest when the browser is idle. */
function useDrawn(rows: Row[]): number {
  const [drawn, setDrawn] = useState<{ rows: Row[]; n: number }>({ rows, n: FIRST_ROWS });
  const n = drawn.rows === rows ? drawn.n : FIRST_ROWS;
  useEffect(() => {
    if (n >= rows.length) return undefined;
    const more = () => setDrawn({ rows, n: rows.length });
    const idle = window.requestIdleCallback as typeof window.requestIdleCallback | undefined;
    if (idle) {
      const id = idle(more, { timeout: 400 });
      return () => cancelIdleCallback(id);
    }
    const id = setTimeout(more, 30);
    return () => clearTimeout(id);
  }, [rows, n]);
  return n;
}

function columns(runs: Runs, run: Run): Column[] {
  const other = otherOf(runs, run);
  const hasRecovered = run.shown.summary.format.recovered_f1 !== null;
  const f1 = (
    <>
      F1 <span class="run0">●</span> {other ? run.shown.letter : hasRecovered ? "strict" : ""}
      {other ? <> <span class="run1">◆</span> {other.shown.letter}</> : hasRecovered ? <> <span class="fmt-ink">○</span> recovered</> : null}
    </>
  );
  return [
    ["id", "id", ""],
    ["question", "question", ""],
    ["answer", "answer", ""],
    ["loss", f1, "f1"],
    ["codes", run.rows.some((row) => row.codes.length) ? "codes, costliest first" : "type or outcome", "codes-head"],
    ["rounds", "rounds", "r"],
  ];
}

function Line({ runs, run, row }: { runs: Runs; run: Run; row: Row }): VNode {
  const other = otherOf(runs, run);
  return useMemo(() => {
    const there = other?.byKey.get(key(row));
    const sign = answerSign(row.answer);
    const open = (event: MouseEvent) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openQuestion(row);
    };
    return (
      <tr id={`row-${row.name}`} data-name={row.name} onClick={(event) => !String(getSelection()) && open(event)}>
        <td class="id">
          <a href={hashOf({ ...NOWHERE, question: row.id, repeat: row.repeat })} onClick={(event) => { event.stopPropagation(); open(event); }}>
            <bdi>{visible(row.id)}</bdi>
            {row.repeat ? <span class="mute"> r{row.repeat}</span> : null}
          </a>
        </td>
        <td class="q" title={plain(row.question)}><bdi lang={langOf(row.question)}>{visible(row.question)}</bdi></td>
        <td class="answer">{other ? <><span class="small mute">{run.shown.letter}</span><Glyph sign={answerSign(row.answer)} word={false} /><span class="small mute">{there ? other.shown.letter : ""}</span>{there ? <Glyph sign={answerSign(there.answer)} word={false} /> : <span class="mute small">not in {other.shown.letter}</span>}</> : row.outcome === "answered" || row.answer ? <Glyph sign={sign} /> : <span class="sign none"><span class="glyph" aria-hidden="true">✕</span>{OUTCOMES[row.outcome]?.split(" ").at(-1)}</span>}</td>
        <td class="f1">{f1Cell(row, there, other)}</td>
        <td class="codes">{row.codes.length ? row.codes.slice(0, 4).map(([code]) => <Code key={code} code={code} severity={runs.names.get(code)?.severity ?? "error"} />) : <span class="small mute">{row.outcome === "answered" ? (unparsable(row) ? "unparsable" : <Text>{row.taskType ?? ""}</Text>) : OUTCOMES[row.outcome]}</span>}{row.codes.length > 4 ? <span class="small mute">+{row.codes.length - 4}</span> : null}</td>
        <td class="r num rounds">{row.rounds}</td>
      </tr>
    );
  }, [runs, run, row]);
}

function f1Cell(row: Row, there: Row | undefined, other: Run | undefined): VNode {
  if (row.f1 === null && !there) return <span class="small mute">left out of F1</span>;
  if (other) {
    const delta = there?.f1 === undefined || there.f1 === null || row.f1 === null ? null : there.f1 - row.f1;
    return (
      <span class="f1-pair">
        <Dumbbell label={`F1 ${points(row.f1)}, in ${other.shown.letter} ${points(there?.f1)}`} from={row.f1} to={there?.f1 ?? null} hollow={false} />
        <span class="num small">{signed(delta)}</span>
      </span>
    );
  }
  return (
    <span class="f1-pair">
      <Dumbbell label={`F1 ${points(row.f1)}${row.recovered === null ? "" : `, recovered ${points(row.recovered)}`}`} from={row.f1} to={row.recovered} hollow={true} />
      <span class="num small">{points(row.f1)}</span>
    </span>
  );
}

function Search({ runs, run, q, onSearched }: { runs: Runs; run: Run; q: string; onSearched: () => void }): VNode {
  const ref = useRef<HTMLInputElement>(null);
  const [progress, setProgress] = useState<string | null>(null);
  const pending = words(q).filter((word) => word.field === "text" && !foundIn(run).has(word.value));
  const search = async () => {
    for (const word of pending) {
      setProgress(`0 of ${run.rows.length}`);
      const missing = await searchAll(run, word.value, runs.index.folder, (n) => setProgress(`${n} of ${run.rows.length}`));
      setProgress(missing ? `${missing} sessions are missing` : null);
    }
    onSearched();
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void search();
      }}
    >
      <Key>/</Key>
      <input
        ref={ref}
        id="search"
        type="search"
        value={q}
        aria-label="Filter the questions"
        placeholder={run.cited ? "id, words, url:, code:, f1<50, rounds>20, text:" : "id, words, verdict:, type:, label:, cause:, text:"}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => go({ q: event.currentTarget.value }, "replace")}
      />
      {pending.length && !progress ? <button type="submit" class="button small">search all texts ⏎</button> : null}
      {progress ? <span class="small mute" role="status">{progress}</span> : null}
    </form>
  );
}

/** Looks through every text of every session; returns how many sessions could not be read. */
async function searchAll(run: Run, value: string, folder: string | null, onProgress: (n: number) => void): Promise<number> {
  const hits = new Set<string>();
  let missing = 0;
  for (const [i, row] of run.rows.entries()) {
    try {
      const session = await read(row.name, folder);
      const own = [session.question, session.reference ?? "", session.criterion?.text ?? "", session.criterion?.verdict?.reason ?? "", ...session.texts, ...(session.pages ?? []).flatMap((page) => [page.title, page.url])];
      if (own.some((text) => fold(text).includes(value))) hits.add(row.name);
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      missing++;
    }
    if (i % 8 === 0) onProgress(i);
  }
  foundIn(run).set(value, hits);
  return missing;
}

const CHIP = /^-?[a-z0-9]+[:<>=]|^-?(flip|contradiction|moved|differs)$/i;

function Chips({ runs, run, q }: { runs: Runs; run: Run; q: string }): VNode {
  const other = otherOf(runs, run);
  const active = asWritten(q).filter((word) => CHIP.test(word));
  const types = [...new Set(run.rows.map((row) => row.taskType ?? "(none)"))].sort();
  const outcomes = [...new Set(run.rows.map((row) => row.outcome))];
  const answers = [...new Set(run.rows.map((row) => row.answer ?? "none"))];
  const codes = [...new Set(run.rows.flatMap((row) => row.codes.map(([code]) => code)))].sort();
  const toggle = (word: string) => go({ q: toggled(q, word) });
  return (
    <div class="chips">
      {active.map((word) => (
        <button key={word} type="button" class="chip on" onClick={() => toggle(word)}>
          <Text>{word}</Text> <span aria-label="take away">✕</span>
        </button>
      ))}
      {q ? <button type="button" class="chip" onClick={() => go({ q: "" })}>all</button> : null}
      <Pick name="outcome" options={[...outcomes, ...(run.cited ? ["unparsable"] : [])].map((value) => ({ word: value === "unparsable" ? "is:unparsable" : `outcome:${value}`, label: spaced(value) }))} q={q} />
      {run.cited ? <Pick name="answer" options={answers.map((value) => ({ word: `answer:${value}`, label: value }))} q={q} /> : <Pick name="verdict" options={verdictWords(run)} q={q} />}
      {types.length > 1 ? <Pick name={run.cited ? "type" : run.shown.summary.type_name} options={types.map((value) => ({ word: asWord("type", value), label: value }))} q={q} /> : null}
      {Object.entries(run.shown.summary.by_label ?? {}).map(([name, values]) => <Pick key={name} name={spaced(name)} options={Object.keys(values).map((value) => ({ word: asWord("label", `${name}=${value}`), label: value }))} q={q} />)}
      {codes.length ? <Pick name="code" options={codes.map((value) => ({ word: `code:${value}`, label: `${value} ${runs.names.get(value)?.title ?? ""}` }))} q={q} /> : null}
      {other
        ? [
            ["moved", run.cited ? "moved most" : "moved"],
            [`only:${run.shown.letter}`, `only ${run.shown.letter} right`],
            [`only:${other.shown.letter}`, `only ${other.shown.letter} right`],
            ["differs", "outcome differs"],
          ].map(([word, label]) => (
            <button key={word} type="button" class={`chip ${hasWord(q, word!) ? "on" : ""}`} aria-pressed={hasWord(q, word!)} onClick={() => toggle(word!)}>
              {label}
            </button>
          ))
        : null}
    </div>
  );
}

/** What one verdict can be, and what it can mean. */
function verdictWords(run: Run): { word: string; label: string }[] {
  const labels = [...new Set(run.rows.map((row) => row.decided?.verdict ?? "none"))].sort();
  return [
    ...(["passed", "failed", "undecided"] as const).map((what) => ({ word: `is:${what}`, label: what })),
    ...labels.map((label) => ({ word: asWord("verdict", label), label: label === "none" ? "no verdict" : label })),
  ];
}

function Pick({ name, options, q }: { name: string; options: { word: string; label: string }[]; q: string }): VNode {
  return (
    <select class="chip" aria-label={`filter by ${name}`} value="" onChange={(event) => {
      const word = event.currentTarget.value;
      event.currentTarget.value = "";
      if (word) go({ q: toggled(q, word) });
    }}>
      <option value="">{name}</option>
      {options.map(({ word, label }) => (
        <option key={word} value={word}>{hasWord(q, word) ? "✓ " : ""}{plain(label)}</option>
      ))}
    </select>
  );
}

const FIELDS = ["id", "repeat", "question", "taskType", "outcome", "flags", "answer", "f1", "recall", "precision", "recovered", "codes", "rounds", "tokens", "seconds"] as const;

const DECIDED_FIELDS = ["id", "repeat", "question", "taskType", "outcome", "cause", "flags", "verdict", "passed", "leftOut", "rounds", "tokens", "seconds"] as const;
type DecidedRecord = Record<(typeof DECIDED_FIELDS)[number], unknown> & { labels: Record<string, string> };

const decidedRecord = (row: Row): DecidedRecord => ({ ...row, ...row.decided! });

export function json(rows: Row[], run: Run): string {
  if (!run.cited) return `${JSON.stringify(rows.map(decidedRecord).map((row) => ({ ...Object.fromEntries(DECIDED_FIELDS.map((name) => [name, row[name]])), labels: row.labels })), null, 1)}\n`;
  const out = rows.map((row) => ({ ...Object.fromEntries(FIELDS.map((name) => [name, row[name]])), codes: row.codes.map(([code, lost]) => ({ code, points: lost })), urls: row.urls.map((i) => run.shown.urls[i]) }));
  return `${JSON.stringify(out, null, 1)}\n`;
}

export function csv(rows: Row[], run: Run): string {
  const cell = (value: unknown): string => {
    const text = value === null || value === undefined ? "" : String(value);
    // A spreadsheet would run a text that begins like a formula.
    const safe = /^[=+\-@\t\r]/.test(text) && typeof value === "string" ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  if (!run.cited) {
    const names = Object.keys(run.shown.summary.by_label ?? {});
    const table = rows.map(decidedRecord).map((row) => [...DECIDED_FIELDS.map((name) => (name === "flags" ? (row.flags as string[]).join(" ") : row[name])), ...names.map((name) => row.labels[name])].map(cell).join(","));
    return `\ufeff${[[...DECIDED_FIELDS, ...names.map((name) => cell(`label_${name}`))].join(","), ...table].join("\r\n")}\r\n`;
  }
  const lines = rows.map((row) =>
    [...FIELDS.map((name) => (name === "flags" ? row.flags.join(" ") : name === "codes" ? row.codes.map(([code]) => code).join(" ") : row[name])), row.urls.map((i) => run.shown.urls[i]).join(" ")].map(cell).join(","),
  );
  return `\ufeff${[[...FIELDS, "cited_urls"].join(","), ...lines].join("\r\n")}\r\n`;
}
