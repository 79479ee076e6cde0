// One question: session | question, reference, answer, raw text | evidence of the chosen citation.

import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Answer, sentencesOf } from "./answer";
import { Sign } from "./decided";
import { Decided, DecidedSide, DecidedTabs, SessionColumn } from "./dialogue";
import { Evidence, RawVerdict, ToggleRaw } from "./evidence";
import type { Row, Session } from "./format";
import { go, NOWHERE, openQuestion } from "./nav";
import { Glyph, Key } from "./parts";
import type { Place, Tab } from "./place";
import { key } from "./query";
import { Raw } from "./raw";
import { Rounds } from "./rounds";
import { otherOf, type Run, type Runs } from "./runs";
import { session as load } from "./sessions";
import { Text } from "./text";
import { answerSign, mark, OUTCOMES, plural, points, spaced, supportSign } from "./words";

const WIDE = "(min-width: 1001px)";

type Loaded = { state: "loading" } | { state: "there"; session: Session } | { state: "missing"; why: string };

export function useSession(name: string | null, folder: string | null): Loaded {
  const [loaded, setLoaded] = useState<{ name: string | null; value: Loaded }>({ name: null, value: { state: "loading" } });
  useEffect(() => {
    if (name === null) return undefined;
    let current = true;
    load(name, folder).then(
      (session) => current && setLoaded({ name, value: { state: "there", session } }),
      (error: unknown) => current && setLoaded({ name, value: { state: "missing", why: error instanceof Error ? error.message : String(error) } }),
    );
    return () => {
      current = false;
    };
  }, [name, folder]);
  return loaded.name === name ? loaded.value : { state: "loading" };
}

export function Question({ runs, run, row, place, rows, showRaw }: { runs: Runs; run: Run; row: Row; place: Place; rows: Row[]; showRaw: boolean }): VNode {
  const loaded = useSession(row.name, runs.index.folder);
  const session = loaded.state === "there" ? loaded.session : null;
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), [row.name]);
  return (
    <>
      <Bar run={run} row={row} rows={rows} place={place} />
      {loaded.state === "missing" ? (
        <main class="alone" id="main"><p class="none">{loaded.why}</p><p><button type="button" class="button" onClick={close}>back to the questions</button></p></main>
      ) : null}
      {loaded.state === "loading" ? <main class="alone" id="main"><p class="mute" role="status">loading {row.id} …</p></main> : null}
      {session?.criterion && row.decided ? (
        <main class="q3 one" id="main">
          <SessionColumn session={session} place={place} open={matchMedia(WIDE).matches} />
          <Decided
            run={run}
            row={row}
            session={session}
            place={place}
            showRaw={showRaw}
            heading={heading}
            tabs={<DecidedTabs many={otherOf(runs, run) !== undefined} letters={alike(runs, run).map((each) => each.shown.letter).join(" | ")} place={place} />}
            compared={place.tab === "compare" && otherOf(runs, run) ? <Compare runs={runs} run={run} row={row} place={place} /> : null}
          />
        </main>
      ) : session ? <Columns runs={runs} run={run} row={row} session={session} place={place} showRaw={showRaw} heading={heading} /> : null}
    </>
  );
}

export const close = (): void => go({ ...NOWHERE, question: null, repeat: 0, tab: "read" });

export function step(rows: Row[], row: Row | undefined, by: 1 | -1): void {
  const at = row ? rows.findIndex((each) => each.name === row.name) : -1;
  const next = at < 0 ? rows[0] : rows[at + by];
  if (next) openQuestion(next, "replace");
}

function Bar({ run, row, rows, place }: { run: Run; row: Row; rows: Row[]; place: Place }): VNode {
  const at = rows.findIndex((each) => each.name === row.name);
  return (
    <header class="top q-top">
      <button type="button" class="plain link back" onClick={close}>← Questions <Key>u</Key></button>
      <span class="sep" />
      <b class="q-id"><Text>{row.id}</Text>{row.repeat ? <span class="mute"> r{row.repeat}</span> : null}</b>
      <span class="stepper">
        <button type="button" class="button" title="previous question" disabled={at <= 0} onClick={() => step(rows, row, -1)}>‹ <Key>k</Key></button>
        <span class="small mute num">{at < 0 ? `not among the ${rows.length}` : `${at + 1} of ${rows.length}`}{place.q ? <span class="with"> with <Text>{place.q.slice(0, 40)}</Text></span> : null}</span>
        <button type="button" class="button" title="next question" disabled={at < 0 || at + 1 >= rows.length} onClick={() => step(rows, row, 1)}><Key>j</Key> ›</button>
      </span>
      <span class="grow" />
      {row.decided ? <span class="q-scores">{run.attempts.get(row.id)!.n > 1 ? <span class="small mute">passed {run.attempts.get(row.id)!.passed} of {run.attempts.get(row.id)!.n}</span> : null}<Sign row={row} /></span> : <span class="q-scores">
        <span class="small mute hide-narrow">recall {points(row.recall)} · precision {points(row.precision)}</span>
        <span class="small mute">F1</span> <b class="big full">{row.f1 === null ? "left out" : points(row.f1)}</b>
        {row.recovered !== null && row.recovered !== row.f1 ? <><span class="mute"> → </span><span class="small mute">recovered</span> <b class="big part">{points(row.recovered)}</b></> : null}
        <span class="sep" />
        {row.answer || row.outcome === "answered" ? <Glyph sign={answerSign(row.answer)} /> : <span class="sign none">✕ {OUTCOMES[row.outcome]}</span>}
      </span>}
      <span class="run-letter small mute">{run.shown.letter}</span>
    </header>
  );
}

function Columns({ runs, run, row, session, place: given, showRaw, heading }: { runs: Runs; run: Run; row: Row; session: Session; place: Place; showRaw: boolean; heading: { current: HTMLHeadingElement | null } }): VNode {
  const place = withFirstEvidence(session, given);
  const sentences = sentencesOf(session, place.tab);
  const sentence = sentences[place.sentence - 1];
  const cited = sentence?.citations?.[place.cite - 1]?.number ?? null;
  useScrollTo(given);
  const sheet = Boolean(given.round || given.sentence);
  const rounds = useMemo(() => <Rounds session={session} place={place} cited={cited} />, [session, place.round, place.call, cited]);
  const raw = useMemo(() => <Raw session={session} place={place} />, [session, place.finding]);
  return (
    <main class="q3" id="main">
      <aside class="col rounds-col" aria-label="Session" tabIndex={0}>
        <details class="fold" open={matchMedia(WIDE).matches}>
          <summary>Session: {plural(session.rounds?.length ?? 0, "round")}</summary>
          {rounds}
        </details>
      </aside>
      <div class="col p answer-col" role="region" aria-label="Question and answer" tabIndex={0}>
        <h1 class="qq" tabIndex={-1} ref={heading}><Text>{session.question}</Text></h1>
        {session.task_type || session.flags?.length ? (
          <p class="tags-line">{session.task_type ? <span class="chip small"><Text>{session.task_type}</Text></span> : null}{session.flags?.map((flag) => <span key={flag} class="chip small warn">{spaced(flag)}</span>)}</p>
        ) : null}
        {session.reference === undefined ? null : <div class="ref"><b class="small">reference</b> <Text>{session.reference}</Text></div>}
        <Consistency session={session} showRaw={showRaw} judge={run.shown.summary.judge} />
        <Tabs runs={runs} run={run} session={session} place={place} />
        {place.tab === "compare" ? <Compare runs={runs} run={run} row={row} place={place} /> : <Answer runs={runs} session={session} place={place} />}
        {place.tab === "compare" ? null : raw}
      </div>
      <aside class={`col evidence-col ${sheet ? "open" : ""}`} aria-label="Evidence" tabIndex={0}>
        <button type="button" class="button sheet-close" onClick={() => go({ ...NOWHERE }, "replace")}>close ✕</button>
        <Evidence session={session} place={place} sentence={sentence} judge={run.shown.summary.judge} showRaw={showRaw} />
      </aside>
    </main>
  );
}

/** Where nothing is chosen yet and there is room beside the answer: its first citation. */
function withFirstEvidence(session: Session, place: Place): Place {
  if (place.sentence || place.round || place.finding || !matchMedia(WIDE).matches) return place;
  const first = sentencesOf(session, place.tab).findIndex((sentence) => sentence.citations?.length);
  return first < 0 ? place : { ...place, sentence: first + 1, cite: 1 };
}

/** Brings what was chosen into view in every column. */
function useScrollTo(place: Place): void {
  useEffect(() => {
    const ids = [place.sentence ? `sentence-${place.sentence}` : "", place.round ? `round-${place.round}` : ""];
    for (const id of ids) document.getElementById(id)?.scrollIntoView({ block: "nearest" });
    if (place.finding) document.querySelector("mark.at")?.scrollIntoView({ block: "nearest" });
  }, [place.question, place.sentence, place.round, place.finding]);
}

function Consistency({ session, showRaw, judge }: { session: Session; showRaw: boolean; judge: string }): VNode | null {
  const verdict = session.consistency;
  if (!verdict) return null;
  const sign = answerSign(verdict.label ?? null);
  return (
    <div class="consistency">
      <Glyph sign={sign} /> <span class="small mute">{verdict.label === undefined ? spaced(verdict.failure ?? "no verdict") : "with the reference; not a truth check of every added claim"}</span>
      {verdict.reason ? <p class="reason"><Text>{verdict.reason}</Text></p> : null}
      {showRaw ? <RawVerdict verdict={verdict} /> : null}
      {showRaw ? <p class="small mute">judge <Text>{judge}</Text> <ToggleRaw showRaw={showRaw} /></p> : null}
    </div>
  );
}

function Tabs({ runs, run, session, place }: { runs: Runs; run: Run; session: Session; place: Place }): VNode {
  const many = otherOf(runs, run) !== undefined;
  const tab = (name: Tab, words: string, letter: string) => (
    <button type="button" role="tab" id={`tab-${name}`} aria-selected={place.tab === name} class="tab" onClick={() => go({ ...NOWHERE, tab: name })}>
      {words} <Key>{letter}</Key>
    </button>
  );
  return (
    <div class="tabs">
      <div role="tablist" aria-label="Readings" class="tablist">
        {tab("read", "Answer as read", "x")}
        {session.recovered ? tab("recovered", "Recovered", "r") : null}
        {many ? tab("compare", `Compare ${alike(runs, run).map((each) => each.shown.letter).join(" | ")}`, "c") : null}
      </div>
      <span class="grow" />
      <span class="small mute legend-line">
        {(["1", "1/2", "0"] as const).map((score) => {
          const sign = supportSign(score);
          return <span key={score}><span class={sign.tone}>{sign.glyph}</span> {sign.word} </span>;
        })}
      </span>
    </div>
  );
}

/** The runs that can stand beside `run`: those judged in the same way. */
const alike = (runs: Runs, run: Run): Run[] => runs.all.filter((each) => each.cited === run.cited);

function Compare({ runs, run, row, place }: { runs: Runs; run: Run; row: Row; place: Place }): VNode {
  return (
    <div class="side-by-side">
      {alike(runs, run).map((each) => (
        <Side key={each.shown.letter} runs={runs} run={each} row={each.byKey.get(key(row))} place={place} />
      ))}
    </div>
  );
}

function Side({ runs, run, row, place }: { runs: Runs; run: Run; row: Row | undefined; place: Place }): VNode {
  const loaded = useSession(row?.name ?? null, runs.index.folder);
  const focused = place.run === run.shown.letter;
  return (
    <section class={`side ${focused ? "on" : ""}`} aria-label={`run ${run.shown.letter}`}>
      <h3>
        <button type="button" class="plain link" disabled={!row} onClick={() => go({ ...NOWHERE, run: run.shown.letter, tab: "compare" }, "replace")}>
          <span class={`run${run.place}`}>{mark(run.place)}</span> {run.shown.letter} <Text>{run.shown.summary.model}</Text>
        </button>
      </h3>
      {!row ? <p class="mute">not in {run.shown.letter}</p> : null}
      {row?.decided ? loaded.state === "there" ? <DecidedSide row={row} session={loaded.session} /> : null : null}
      {row && !row.decided ? <p class="small"><Glyph sign={answerSign(row.answer)} /> · F1 {points(row.f1)} · {plural(row.rounds, "round")}{row.outcome === "answered" ? "" : ` · ${OUTCOMES[row.outcome]}`}</p> : null}
      {row && loaded.state === "missing" ? <p class="none">{loaded.why}</p> : null}
      {row && !row.decided && loaded.state === "there" ? (
        focused ? <Answer runs={runs} session={loaded.session} place={{ ...place, tab: "read" }} /> : <Plain session={loaded.session} />
      ) : null}
    </section>
  );
}

/** The other side: readable, but the evidence follows the side in focus. */
function Plain({ session }: { session: Session }): VNode {
  if (session.answer === undefined) return <p class="none">{OUTCOMES[session.outcome]}: <Text>{session.reason ?? ""}</Text></p>;
  const sentences = session.sentences ?? [];
  return (
    <ol class="sentences">
      {sentences.map((sentence, i) => {
        const sign = supportSign(sentence.score);
        return (
          <li key={i} class="s quiet">
            <span class={`g ${sign.tone}`} role="img" aria-label={sign.word}>{sign.glyph}</span>
            <p class="words"><Text>{sentence.text}</Text> {sentence.citations?.map((citation, j) => <span key={j} class="ct y">{citation.number ?? "?"}</span>)}</p>
          </li>
        );
      })}
      {sentences.length === 0 ? <li class="none">No sentence can be read.</li> : null}
    </ol>
  );
}

