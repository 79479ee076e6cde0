// One session that one verdict decides about: session | the dialogue | what the answer is held against, and the verdict.

import { type ComponentChildren, Fragment, type VNode } from "preact";
import { RawVerdict, Seen, ToggleRaw } from "./evidence";
import type { Criterion, Row, Session, Verdict } from "./format";
import { go, NOWHERE, openQuestion } from "./nav";
import { Glyph, Key, save } from "./parts";
import type { Place } from "./place";
import { raw, textOf } from "./reading";
import { LongText, Rounds } from "./rounds";
import type { Run } from "./runs";
import { Text } from "./text";
import { count, decidedSign, OUTCOMES, plural, type Sign, spaced } from "./words";

interface Turn {
  role: string;
  text: string;
  /** Came with the question; nothing was generated. */
  given: boolean;
  answer: boolean;
}

/** Every turn in order. The last reply is the answer, where there is one. */
export function turnsOf(session: Session): Turn[] {
  const turns: Turn[] = (session.history ?? []).map(({ role, text }) => ({ role, text: textOf(session, text), given: true, answer: false }));
  const rounds = session.rounds ?? [];
  if (!rounds.length) turns.push({ role: "user", text: session.question, given: true, answer: false });
  rounds.forEach((round, i) => {
    const user = round.user ? textOf(session, round.user) : i === 0 ? session.question : "";
    if (user) turns.push({ role: "user", text: user, given: true, answer: false });
    if (round.content && !round.calls?.length) turns.push({ role: "assistant", text: textOf(session, round.content), given: false, answer: false });
  });
  const last = turns.at(-1);
  if (session.answer && last && !last.given) last.answer = true;
  return turns;
}

/** The user turn that the answer follows: the question itself, where a script has only one. */
function lastAsked(session: Session): string {
  const last = session.rounds?.findLast((round) => round.user)?.user;
  return last ? textOf(session, last) : session.question;
}

export function Decided({ run, row, session, place, showRaw, heading, tabs, compared }: { run: Run; row: Row; session: Session; place: Place; showRaw: boolean; heading: { current: HTMLHeadingElement | null }; tabs: VNode | null; compared: VNode | null }): VNode {
  const labels = Object.entries(session.labels ?? {});
  return (
    <>
      <div class="col p answer-col" role="region" aria-label="Dialogue and answer" tabIndex={0}>
        <h1 class="qq" tabIndex={-1} ref={heading}><Text>{lastAsked(session)}</Text></h1>
        {session.task_type || labels.length || session.flags?.length ? (
          <p class="tags-line">
            {session.task_type ? <span class="chip small"><Text>{session.task_type}</Text></span> : null}
            {labels.map(([name, value]) => <span key={name} class="chip small"><span class="mute">{spaced(name)}</span> <Text>{value}</Text></span>)}
            {session.flags?.map((flag) => <span key={flag} class="chip small warn">{spaced(flag)}</span>)}
          </p>
        ) : null}
        {tabs}
        {compared ?? <Dialogue session={session} />}
        {session.reference === undefined ? null : <div class="ref"><b class="small">reference</b> <Text>{session.reference}</Text></div>}
      </div>
      <aside class={`col evidence-col verdict-col ${place.round ? "open" : ""}`} aria-label="Verdict" tabIndex={0}>
        {place.round ? (
          <>
            <button type="button" class="button back-to-verdict" onClick={() => go({ ...NOWHERE }, "replace")}>close ✕</button>
            <Seen session={session} place={place} />
          </>
        ) : null}
        <VerdictOf run={run} row={row} session={session} criterion={session.criterion!} showRaw={showRaw} />
      </aside>
    </>
  );
}

export function SessionColumn({ session, place, open }: { session: Session; place: Place; open: boolean }): VNode {
  return (
    <aside class="col rounds-col" aria-label="Session" tabIndex={0}>
      <details class="fold" open={open}>
        <summary>Session: {plural(session.rounds?.length ?? 0, "round")}</summary>
        <Rounds session={session} place={place} cited={null} />
      </details>
    </aside>
  );
}

function Dialogue({ session }: { session: Session }): VNode {
  const turns = turnsOf(session);
  const before = session.history?.length ?? 0;
  return (
    <div class="dialogue">
      {turns.map((turn, i) => (
        <Fragment key={i}>
          {before > 0 && i === before ? <p class="small mute cut"><span>the question</span></p> : null}
          <article id={turn.answer ? "raw" : undefined} class={`turn ${turn.role === "assistant" ? "assistant" : "user"} ${turn.answer ? "answer" : ""}`} aria-label={turn.answer ? "answer" : turn.role}>
            <header class="small">
              <b>{turn.answer ? "answer" : <Text>{turn.role}</Text>}</b>
              {turn.answer ? (
                <>
                  <span class="mute">{count(turn.text.length)} characters{session.finish && session.finish !== "stop" ? `, finish ${session.finish}` : ""}</span>
                  <span class="grow" />
                  <button type="button" class="button" onClick={() => save(`${session.id}.txt`, "text/plain;charset=utf-8", [raw(session)])}>save</button>
                </>
              ) : null}
            </header>
            <LongText text={turn.text} />
          </article>
        </Fragment>
      ))}
      {session.answer === undefined ? <NoAnswer session={session} /> : null}
    </div>
  );
}

function NoAnswer({ session }: { session: Session }): VNode {
  const last = session.rounds?.at(-1);
  const thought = last?.reasoning ? textOf(session, last.reasoning) : "";
  return (
    <div class="unread" role="note" id="raw">
      <b class="none">No answer: {spaced(session.outcome)}.</b>
      {session.reason ? <p class="reason"><Text>{session.reason}</Text></p> : null}
      {thought ? <><p class="small mute">the last reasoning ends</p><div class="ev"><Text>{thought.length > 600 ? `…${thought.slice(-600)}` : thought}</Text></div></> : null}
    </div>
  );
}

function VerdictOf({ run, row, session, criterion, showRaw }: { run: Run; row: Row; session: Session; criterion: Criterion; showRaw: boolean }): VNode {
  const { verdict, passing, rubric } = criterion;
  const { leftOut, passed } = row.decided!;
  return (
    <div class="one-verdict">
      <h2 class="verdict-line"><Glyph sign={decidedSign(row)} /> <span class={passed === null ? "unk" : passed ? "full" : "none"}>{leftOut ? `left out: ${spaced(leftOut)}` : passed === null ? "undecided" : passed ? "passes" : "does not pass"}</span></h2>
      {verdict ? null : <p class="small mute">There was no answer to judge: {OUTCOMES[session.outcome]}.</p>}
      {verdict && verdict.label === undefined ? <p class="none small">The judge gave no verdict: {spaced(verdict.failure ?? "unknown")}.</p> : null}
      {verdict?.reason ? <p class="reason"><Text>{verdict.reason}</Text></p> : null}
      <h3>{rubric === "criterion" ? "held against" : `held against (${spaced(rubric)})`}</h3>
      <div class="ev criterion"><Text>{criterion.text}</Text></div>
      <p class="small mute note">passes with: {passing.map((label, i) => <Fragment key={label}>{i ? ", " : ""}<Text>{label}</Text></Fragment>)}</p>
      {verdict?.repeats?.length ? <Again verdict={verdict} passing={passing} /> : null}
      {(run.attempts.get(row.id)?.n ?? 0) > 1 ? <Attempts run={run} row={row} /> : null}
      {verdict ? (
        <>
          {showRaw ? <RawVerdict verdict={verdict} /> : null}
          <p class="small mute judge-line">
            judge <Text>{run.shown.summary.judge}</Text>{(verdict.attempts ?? 1) > 1 ? ` · after ${verdict.attempts} attempts` : ""}{verdict.prompt ? ` · prompt sha256:${verdict.prompt.slice(0, 8)}…` : ""} <ToggleRaw showRaw={showRaw} />
          </p>
        </>
      ) : null}
    </div>
  );
}

const labelSign = (label: string | undefined, passing: string[]): Sign =>
  label === undefined ? { glyph: "?", tone: "unk", word: "no verdict" } : passing.includes(label) ? { glyph: "✓", tone: "full", word: label } : { glyph: "✕", tone: "none", word: label };

/** The same verdict asked for again: shown, never counted. */
function Again({ verdict, passing }: { verdict: Verdict; passing: string[] }): VNode {
  return (
    <>
      <h3>asked {1 + verdict.repeats!.length} times; the first counts</h3>
      <ol class="again">
        {[{ label: verdict.label, reason: "", failure: verdict.failure }, ...verdict.repeats!].map((each, i) => (
          <li key={i}><Glyph sign={labelSign(each.label, passing)} /> {each.reason ? <span class="small"><Text>{each.reason}</Text></span> : null}{each.label === undefined ? <span class="small mute">{spaced(each.failure ?? "")}</span> : null}</li>
        ))}
      </ol>
    </>
  );
}

/** The other sessions of the same question. */
function Attempts({ run, row }: { run: Run; row: Row }): VNode {
  const { passed, n } = run.attempts.get(row.id)!;
  return (
    <>
      <h3>passed in {passed} of {n} sessions of this question</h3>
      <p class="attempts">
        {run.rows.filter((each) => each.id === row.id).map((each) => (
          <button key={each.name} type="button" class={`button ${each === row ? "on" : ""}`} aria-pressed={each === row} onClick={() => openQuestion(each, "replace")}>
            <span class="mute">r{each.repeat}</span> <Glyph sign={decidedSign(each)} />
          </button>
        ))}
      </p>
    </>
  );
}

/** One run's side of a comparison. */
export function DecidedSide({ row, session }: { row: Row; session: Session }): VNode {
  const verdict = session.criterion?.verdict;
  const answer: ComponentChildren = session.answer === undefined ? <NoAnswer session={session} /> : <LongText text={raw(session)} />;
  return (
    <>
      <p class="small"><Glyph sign={decidedSign(row)} />{row.outcome === "answered" ? "" : ` · ${OUTCOMES[row.outcome]}`}</p>
      {verdict?.reason ? <p class="reason"><Text>{verdict.reason}</Text></p> : null}
      {answer}
    </>
  );
}

export function DecidedTabs({ many, letters, place }: { many: boolean; letters: string; place: Place }): VNode | null {
  if (!many) return null;
  const tab = (name: "read" | "compare", words: string, letter: string) => (
    <button type="button" role="tab" id={`tab-${name}`} aria-selected={(place.tab === "compare") === (name === "compare")} class="tab" onClick={() => go({ ...NOWHERE, tab: name })}>
      {words} <Key>{letter}</Key>
    </button>
  );
  return (
    <div class="tabs">
      <div role="tablist" aria-label="Views" class="tablist">
        {tab("read", "Dialogue", "x")}
        {tab("compare", `Compare ${letters}`, "c")}
      </div>
    </div>
  );
}
