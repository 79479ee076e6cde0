// The session, round by round: what was called, what came back, which numbers were given.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Call, Round, Session } from "./format";
import { go } from "./nav";
import { save } from "./parts";
import type { Place } from "./place";
import { callAbout, textOf } from "./reading";
import { langOf, plain, Text, visible } from "./text";
import { count, duration, plural, short, spaced } from "./words";

const ICONS: Record<string, string> = { search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.4 10.4 14 14", fetch: "M2.5 13.5h11M8 2.5v7.5m0 0L5 7m3 3 3-3", find: "M2.5 4h11M2.5 8h7M2.5 12h9" };

const Icon = ({ tool }: { tool: string }): VNode => (
  <svg class="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    <path d={ICONS[tool] ?? "M3 3h10v10H3Z"} />
  </svg>
);

export function Rounds({ session, place, cited }: { session: Session; place: Place; cited: number | null }): VNode {
  const rounds = session.rounds ?? [];
  const numbered = session.pages?.length ?? 0;
  return (
    <>
      <h2 class="col-title">
        Session <span class="mute">{plural(rounds.length, "round")} · {short((session.prompt_tokens ?? 0) + (session.completion_tokens ?? 0))} tok</span>
      </h2>
      <p class="small mute">
        {session.seconds ? `${duration(session.seconds)}${session.criterion && !numbered ? "" : " · "}` : ""}{session.criterion && !numbered ? "" : `${plural(numbered, "page")} got a number`}
      </p>
      <ol class="rounds">
        {rounds.map((round, i) => (
          <RoundItem key={i} session={session} round={round} number={i + 1} last={i + 1 === rounds.length} place={place} cited={cited} />
        ))}
      </ol>
      {rounds.length === 0 ? <p class="mute">The model said nothing.</p> : null}
      <PagesList session={session} cited={cited} />
    </>
  );
}

function RoundItem({ session, round, number, last, place, cited }: { session: Session; round: Round; number: number; last: boolean; place: Place; cited: number | null }): VNode {
  const calls = round.calls ?? [];
  const select = (call: number) => go({ round: number, call, whole: false }, "replace");
  return (
    <li class="round" id={`round-${number}`}>
      <span class="no" aria-hidden="true">{number}</span>
      <div class="calls">
        {round.user ? <p class="asked small" title={plain(textOf(session, round.user))}><span class="mute">user</span> <Text>{textOf(session, round.user).slice(0, 80)}</Text></p> : null}
        {round.reasoning || (round.content && calls.length) ? (
          <button type="button" class={`call thought ${place.round === number && place.call === 0 ? "on" : ""}`} onClick={() => select(0)}>
            <span class="small mute">thought, {count((round.reasoning ? round.reasoning[2] : 0) + (calls.length && round.content ? round.content[2] : 0))} characters</span>
          </button>
        ) : null}
        {calls.map((call, i) => (
          <CallItem key={i} session={session} call={call} on={place.round === number && place.call === i + 1} near={cited !== null && (call.pages ?? []).includes(cited)} onSelect={() => select(i + 1)} />
        ))}
        {calls.length === 0 ? (
          <button type="button" class={`call final ${place.round === number && place.call === 0 && !round.reasoning ? "on" : ""}`} onClick={() => (round.content ? document.getElementById("raw")?.scrollIntoView({ block: "start" }) : select(0))}>
            <span class="about">{last && !(session.criterion && session.answer === undefined && round.content) ? (round.content ? "final answer" : "no answer") : session.criterion ? "reply" : "message"}</span>
            <span class={`small ${round.content ? "mute" : "none"}`}>
              {round.finish ?? "no finish reason"}{round.content ? ` · ${count(round.content[2])} characters` : " · empty"}{round.forced ? " · asked for, tools off" : ""}
            </span>
          </button>
        ) : null}
      </div>
    </li>
  );
}

function CallItem({ session, call, on, near, onSelect }: { session: Session; call: Call; on: boolean; near: boolean; onSelect: () => void }): VNode {
  const about = callAbout(session, call.tool, call.arguments);
  return (
    <button type="button" class={`call ${on ? "on" : ""} ${near ? "near" : ""}`} aria-pressed={on} onClick={onSelect} title={plain(about)}>
      <Icon tool={call.tool} />
      <span class="about"><bdi lang={langOf(about)}>{visible(about.slice(0, 300))}</bdi></span>
      <span class="small mute meta">
        <Text>{call.tool}</Text>
        {call.failure ? <span class="none"> · ✕ {spaced(call.failure)} · no number</span> : call.pages?.length ? <> → <b class="num">{call.pages.join(" ")}</b></> : " · nothing"}
        {call.neutralised ? <span class="part"> · {plural(call.neutralised, "forged tag")} made harmless</span> : null}
      </span>
    </button>
  );
}

function PagesList({ session, cited }: { session: Session; cited: number | null }): VNode | null {
  const pages = session.pages ?? [];
  if (!pages.length) return null;
  return (
    <details class="pages-list">
      <summary class="small">all {plural(pages.length, "numbered page")}</summary>
      <ol>
        {pages.map((page) => (
          <li key={page.number} class={page.number === cited ? "on" : ""}>
            <b class="num">{page.number}</b> <Text>{page.title || page.url}</Text>
            <span class="small mute"> {plural(page.pieces?.length ?? 0, "piece")}{page.n_failed ? <span class="none">, {plural(page.n_failed, "failed call")}</span> : null}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** What the model thought and said in a round. */
export function Message({ session, round }: { session: Session; round: Round }): VNode {
  const parts: [string, string][] = [];
  if (round.reasoning) parts.push(["reasoning", textOf(session, round.reasoning)]);
  if (round.content) parts.push(["message", textOf(session, round.content)]);
  return (
    <>
      {parts.map(([name, text]) => (
        <section key={name}>
          <h3>{name}, {count(text.length)} characters</h3>
          <LongText text={text} />
        </section>
      ))}
      {parts.length === 0 ? <p class="mute">Nothing was said; the finish reason is {round.finish ?? "not given"}.</p> : null}
    </>
  );
}

const SLICE = 65_536;
const HUGE = 2_000_000;
const HUGE_FIRST = 262_144;

/** Text in slices: a browser lays out 100 kB in 0.2 s and 5 MB in seconds. */
export function LongText({ text }: { text: string }): VNode {
  const [n, setN] = useState(1);
  const most = text.length > HUGE ? HUGE_FIRST : text.length;
  const end = Math.min(most, n * SLICE);
  return (
    <div class="long">
      <div class="ev" lang={langOf(text)} dir="auto">{visible(text.slice(0, end))}</div>
      {end < text.length ? (
        <p class="small">
          <span class="mute">{count(end)} of {count(text.length)} shown </span>
          {end < most ? <button type="button" class="button" onClick={() => setN(n + 1)}>next</button> : null}
          <button type="button" class="button" onClick={() => save("text.txt", "text/plain;charset=utf-8", [text])}>save whole text</button>
        </p>
      ) : null}
    </div>
  );
}
