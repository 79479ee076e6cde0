// The page: reads the index, draws the place that the hash names, and keeps the two together.

import { render, type VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { First } from "./first";
import { type Index, VERSION } from "./format";
import { CITED_KEYS, KEYS, onKey } from "./keys";
import { go, onPlace, place as herePlace } from "./nav";
import { Dialog, Key } from "./parts";
import type { Place, Theme } from "./place";
import { filtered, foundIn } from "./questions";
import { close, Question } from "./question";
import { contextOf, open, runNamed, type Runs } from "./runs";
import { loaded, whole } from "./sessions";
import { copyLink, onSwitch, switches, turn } from "./switches";
import { Text } from "./text";
import { mark } from "./words";
import "./style.css";

function App({ runs }: { runs: Runs }): VNode {
  const [place, setPlace] = useState<Place>(herePlace());
  const [on, setOn] = useState(switches());
  const [cut, setCut] = useState(false);
  useLayoutEffect(() => onPlace(setPlace), []);
  useLayoutEffect(() => onSwitch(setOn), []);
  useEffect(() => void loaded.then(() => setCut(!whole())), []);
  useLayoutEffect(() => {
    if (place.theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", place.theme);
  }, [place.theme]);
  const run = runNamed(runs, place.run) ?? runs.all[0]!;
  const row = place.question === null ? undefined : run.byKey.get(`${place.repeat}/${place.question}`);
  const rows = useMemo(() => filtered(runs, run, place, contextOf(runs, run, foundIn(run))), [runs, run, place.q, place.sort, place.question]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event, { runs, run, row, rows: () => rows });
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [runs, run, row, rows]);
  useReturnFocus(row?.name ?? null);
  return (
    <div class={`app ${place.question === null ? "" : "in-question"}`}>
      {cut ? <div class="banner" role="alert">This file is cut off: it was not received or saved whole. What arrived can be read; sessions that are missing say so.</div> : null}
      {runs.all.length && runNamed(runs, place.run) === undefined ? <div class="banner" role="alert">There is no run <Text>{place.run}</Text> in this page; this is run {run.shown.letter}.</div> : null}
      <Top runs={runs} letter={run.shown.letter} place={place} copied={on.copied} />
      {place.question === null ? <First runs={runs} run={run} place={place} /> : row ? (
        <Question runs={runs} run={run} row={row} place={place} rows={rows} showRaw={on.rawVerdicts} />
      ) : (
        <main class="alone" id="main">
          <p role="alert">There is no question <b><Text>{place.question}</Text></b>{place.repeat ? `, repeat ${place.repeat},` : ""} in run {run.shown.letter}{runs.index.only ? <> (this page holds only <Text>{runs.index.only}</Text>)</> : null}.</p>
          <p><button type="button" class="button" onClick={close}>show the questions</button></p>
        </main>
      )}
      {on.help ? <Help cited={runs.all.some((each) => each.cited)} decided={runs.all.some((each) => !each.cited)} onClose={() => turn({ help: false })} /> : null}
    </div>
  );
}

/** After a question is closed, focus is on its row again. */
function useReturnFocus(name: string | null): void {
  const last = useRef<string | null>(null);
  useEffect(() => {
    if (name !== null) last.current = name;
    else if (last.current !== null) {
      const row = document.getElementById(`row-${last.current}`);
      row?.querySelector<HTMLAnchorElement>("td.id a")?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
      last.current = null;
    }
  }, [name]);
}

const THEMES: Record<Theme, { next: Theme; glyph: string }> = { auto: { next: "light", glyph: "◐" }, light: { next: "dark", glyph: "○" }, dark: { next: "auto", glyph: "●" } };

function Top({ runs, letter, place, copied }: { runs: Runs; letter: string; place: Place; copied: boolean }): VNode {
  const run = runNamed(runs, letter)!;
  const { summary, starts } = run.shown;
  const started = (starts[0] as { started?: string } | undefined)?.started;
  return (
    <header class="top">
      <a class="brand" href="#" onClick={(event) => { event.preventDefault(); go({ question: null, repeat: 0, tab: "read", q: "" }); }}>
        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 13h12M8 2v7m0 0L5 6m3 3 3-3" /></svg>
        pincite
      </a>
      <span class="sep" />
      <b class="benchmark"><Text>{summary.benchmark}</Text></b>
      <span class="run-chips" role="group" aria-label="Runs">
        {runs.all.map((each) => (
          <button key={each.shown.letter} type="button" class={`chip ${each === run ? "on" : ""}`} aria-pressed={each === run} onClick={() => go({ run: each.shown.letter })}>
            <span class={`run${each.place}`} aria-hidden="true">{mark(each.place)}</span> {each.shown.letter} <Text>{each.shown.summary.model}</Text>
          </button>
        ))}
      </span>
      <span class="grow" />
      <span class="small mute hide-narrow facts-line">judge <Text>{summary.judge}</Text>{started ? ` · ${started.slice(0, 10)}` : ""}</span>
      <span class="chip small digest hide-narrow" title={`digest of the records: a sealed replay of this run gives the same\n${summary.digest}`}>{summary.digest.slice(0, 13)}…{summary.digest.slice(-4)}</span>
      <button type="button" class="button" onClick={() => void copyLink()} title="copy the link to this place">{copied ? "✓ copied" : <><span class="hide-narrow">link </span><Key>y</Key></>}</button>
      <button type="button" class="button" onClick={() => go({ theme: THEMES[place.theme].next }, "replace")} aria-label={`colours: ${place.theme === "auto" ? "as the system" : place.theme}; change`} title={`colours: ${place.theme === "auto" ? "as the system" : place.theme}`}>{THEMES[place.theme].glyph}</button>
      <button type="button" class="button" onClick={() => turn({ help: true })} title="keys"><Key>?</Key></button>
    </header>
  );
}

function Help({ cited, decided, onClose }: { cited: boolean; decided: boolean; onClose: () => void }): VNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <table class="keys"><tbody>{KEYS.filter(([keys]) => cited || !CITED_KEYS.has(keys)).map(([keys, does]) => <tr key={keys}><th scope="row">{keys.split("  ").map((each) => <Key key={each}>{each}</Key>)}</th><td>{does}</td></tr>)}</tbody></table>
      <h3>Words of the search</h3>
      <dl class="facts">
        {cited ? (
          <>
            <dt>code:P05</dt><dd>answers in which a rule broke; -code:P05 turns it round</dd>
            <dt>outcome: type: answer: flag:</dt><dd>a part of the value; “…” keeps spaces</dd>
            <dt>is:unparsable is:readable</dt><dd>what the markup allowed</dd>
            <dt>f1&lt;50 recovered&gt;=80</dt><dd>points; also recall, precision, loss, rounds, tokens, seconds</dd>
            <dt>url:</dt><dd>address of a cited page</dd>
            <dt>flip contradiction</dt><dd>where the judge disagrees with itself</dd>
          </>
        ) : null}
        {decided ? (
          <>
            <dt>verdict:no verdict:none</dt><dd>the label that the judge gave; -verdict:no turns it round</dd>
            <dt>is:passed is:failed is:undecided</dt><dd>what the verdict means; -is:passed also has what got no answer</dd>
            <dt>type: label: outcome: cause: flag:</dt><dd>a part of the value; label:technique=Repeat; cause:output_limit; “…” keeps spaces</dd>
            <dt>flip is:judge_flip</dt><dd>passed sometimes and not always; a judge that was asked again and said otherwise</dd>
            <dt>tokens&gt;1000</dt><dd>also rounds, seconds</dd>
          </>
        ) : null}
        <dt>text:…</dt><dd>Enter searches every text of every session</dd>
      </dl>
    </Dialog>
  );
}

function start(): void {
  const root = document.getElementById("app")!;
  const index = JSON.parse(document.getElementById("pc-index")!.textContent!) as Index;
  if (index.version !== VERSION) {
    root.textContent = `This page holds data of version ${index.version}; its program reads version ${VERSION}.`;
    return;
  }
  document.getElementById("static")?.remove();
  render(<App runs={open(index)} />, root);
}

start();
