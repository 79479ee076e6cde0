// The answer sentence by sentence, as read or as it would read if the markup were right.

import type { VNode } from "preact";
import type { Citation, Sentence, Session } from "./format";
import { go } from "./nav";
import { Code } from "./parts";
import type { Place, Tab } from "./place";
import { citationSign, lostCitations, recoveredFor, textOf, unitOf } from "./reading";
import type { Runs } from "./runs";
import { plain, Text } from "./text";
import { plural, spaced, supportSign } from "./words";

export function sentencesOf(session: Session, tab: Tab): Sentence[] {
  return (tab === "recovered" ? session.recovered?.sentences : session.sentences) ?? [];
}

export const select = (sentence: number, cite: number): void => go({ sentence, cite, round: 0, call: 0, finding: 0 }, "replace");

export function Answer({ runs, session, place }: { runs: Runs; session: Session; place: Place }): VNode {
  const recovered = place.tab === "recovered";
  const sentences = sentencesOf(session, place.tab);
  if (session.answer === undefined) return <NoAnswer session={session} />;
  return (
    <div class="answer-body" role="tabpanel" aria-label={recovered ? "recovered reading" : "answer as read"}>
      {recovered ? <p class="small mute note">With the markup mended: shown, never scored. Verdicts are those of the strict reading; what was never judged has none.</p> : null}
      {sentences.length === 0 ? <Unread session={session} recovered={recovered} /> : null}
      <ol class="sentences">
        {sentences.map((sentence, i) => (
          <SentenceItem key={i} runs={runs} session={session} sentence={sentence} index={i} place={place} recovered={recovered} />
        ))}
      </ol>
    </div>
  );
}

function Unread({ session, recovered }: { session: Session; recovered: boolean }): VNode {
  const n = session.recovered?.sentences.length ?? 0;
  if (recovered) return <p class="nothing">Nothing could be recovered from this answer.</p>;
  return (
    <div class="unread" role="note">
      <b class="none">No sentence can be read: citation F1 counts this answer as 0.</b>
      <p class="small mute">The raw text stands below with what broke. {n ? <>With the markup mended, {plural(n, "sentence")} would be read. <button type="button" class="button" onClick={() => go({ tab: "recovered", sentence: 0, cite: 0 })}>show the recovered reading</button></> : null}</p>
    </div>
  );
}

function SentenceItem({ runs, session, sentence, index, place, recovered }: { runs: Runs; session: Session; sentence: Sentence; index: number; place: Place; recovered: boolean }): VNode {
  const on = place.sentence === index + 1;
  const sign = supportSign(sentence.score);
  const citations = sentence.citations ?? [];
  const found = recovered ? null : recoveredFor(session, sentence);
  const lost = recovered ? [] : lostCitations(sentence, found);
  const codes = recovered ? [] : codesIn(session, sentence);
  return (
    <li id={`sentence-${index + 1}`} class={`s ${on ? "on" : ""}`} onClick={() => select(index + 1, citations.length ? Math.max(1, on ? place.cite : 1) : 0)}>
      <span class={`g ${sign.tone}`} role="img" aria-label={sign.word}>{sign.glyph}</span>
      <div>
        <p class="words">
          <Text>{sentence.text}</Text>
          {citations.map((citation, j) => (
            <CiteButton key={j} session={session} citation={citation} on={on && place.cite === j + 1} onClick={() => select(index + 1, j + 1)} />
          ))}
          {lost.map((citation, j) => (
            <span key={`lost${j}`} class="ct o" title="only the recovered reading sees this citation">{citation.number ?? "?"} …</span>
          ))}
        </p>
        <p class="small mute why">
          <Why session={session} sentence={sentence} index={index} recovered={recovered} />
          {codes.map((code) => <Code key={code} code={code} severity={runs.names.get(code)?.severity ?? "error"} />)}
          {found && found.score !== sentence.score && found.score !== undefined ? <span> recovered: <b class={supportSign(found.score).tone}>{supportSign(found.score).word} {supportSign(found.score).glyph}</b></span> : null}
        </p>
      </div>
    </li>
  );
}

const codesIn = (session: Session, sentence: Sentence): string[] => [
  ...new Set((session.findings ?? []).filter((finding) => finding.severity !== "note" && finding.start >= sentence.start && finding.start < sentence.end).map((finding) => finding.code)),
];

function Why({ session, sentence, index, recovered }: { session: Session; sentence: Sentence; index: number; recovered: boolean }): VNode {
  const citations = sentence.citations ?? [];
  const sign = supportSign(sentence.score);
  const word = <b class={sign.tone}>{citations.length ? sign.word : sentence.score === "1" ? "needs no citation" : sentence.score === "0" ? "needs a citation" : "no verdict"}</b>;
  if (recovered) return <>{word} </>;
  if (!citations.length) return <>{word}{sentence.score === "0" ? " · none in the strict reading " : " "}</>;
  const support = unitOf(session, "support", index);
  if (!support) return <><b class="none">no valid number</b> · {citations.length === 1 ? "its citation has no evidence" : "none of its citations has evidence"}, recall 0 </>;
  const shared = support.sentences.length > 1 ? ` · judged once for ${support.sentences.length} equal sentences` : "";
  const together = citations.length > 1 ? " · all valid numbers judged together" : "";
  return <>{word}{together}{shared} {support.verdict.label === undefined ? `(${spaced(support.verdict.failure ?? "no verdict")}) ` : ""}</>;
}

function CiteButton({ session, citation, on, onClick }: { session: Session; citation: Citation; on: boolean; onClick: () => void }): VNode {
  const sign = citationSign(session, citation);
  const name = citation.number === null ? citation.body.slice(0, 24) : String(citation.number);
  return (
    <button
      type="button"
      class={`ct ${sign.cls} ${on ? "on" : ""}`}
      aria-pressed={on}
      aria-label={`${plain(name)} ${sign.glyph} citation: ${sign.word}`}
      title={sign.word}
      onClick={(event) => {
        event.stopPropagation();
        onClick();
      }}
    >
      <Text>{name}</Text>
      <i aria-hidden="true">{sign.glyph}</i>
    </button>
  );
}

/** What came instead of an answer. */
function NoAnswer({ session }: { session: Session }): VNode {
  const rounds = session.rounds ?? [];
  const last = rounds.at(-1);
  const tails: [string, string][] = [];
  if (last?.reasoning) tails.push(["reasoning", textOf(session, last.reasoning)]);
  if (last?.content) tails.push(["message", textOf(session, last.content)]);
  for (const call of last?.calls ?? []) tails.push([`${call.tool} result`, textOf(session, call.text)]);
  return (
    <div class="unread" role="note">
      <b class="none">No answer: {spaced(session.outcome)}.</b>
      {session.reason ? <p class="reason"><Text>{session.reason}</Text></p> : null}
      <p class="small mute">Citation scores: {session.citation_counting === "left out" ? "left out of the denominator" : "counted as 0"}. Consistency: counted as 0.</p>
      {tails.map(([name, text]) => (
        <section key={name}>
          <p class="small mute">the last {name} ends</p>
          <div class="ev"><Text>{text.length > 600 ? `…${text.slice(-600)}` : text}</Text></div>
        </section>
      ))}
      {tails.length === 0 ? <p class="small mute">The model said nothing in its last round.</p> : null}
    </div>
  );
}
