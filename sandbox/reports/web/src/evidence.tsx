// What a citation stands on: the page, where it was seen, the text with shared words marked, the judge's words.

import type { ComponentChildren, VNode } from "preact";
import type { Citation, Page, Piece, Sentence, Session, Unit, Verdict } from "./format";
import { go } from "./nav";
import { densest, nMarked, shared, type Span } from "./overlap";
import { Key } from "./parts";
import type { Place } from "./place";
import { inPageOrder, pageNumbered, seenIn, textOf, unitOf } from "./reading";
import { LongText, Message } from "./rounds";
import { toggleRawVerdicts } from "./switches";
import { langOf, marked, PageLink, Text } from "./text";
import { count, plural, spaced, supportSign } from "./words";

const WINDOW = 420;
const SHOWN = 2;
/** A piece that shares less than this part of the best one's words is left for "all that was seen". */
const WORTH = 0.4;

export function Evidence({ session, place, sentence, judge, showRaw }: { session: Session; place: Place; sentence: Sentence | undefined; judge: string; showRaw: boolean }): VNode {
  if (place.round) return <Seen session={session} place={place} />;
  const citation = sentence?.citations?.[place.cite - 1];
  if (!sentence) return <Hint session={session} />;
  if (!citation) return <Uncited session={session} place={place} sentence={sentence} judge={judge} showRaw={showRaw} />;
  const page = pageNumbered(session, citation.number);
  return (
    <>
      {page ? <PageEvidence session={session} page={page} sentence={sentence} whole={place.whole} /> : <NoPage citation={citation} />}
      <Verdicts session={session} place={place} sentence={sentence} citation={citation} judge={judge} showRaw={showRaw} />
    </>
  );
}

function Hint({ session }: { session: Session }): VNode {
  return (
    <div class="hint mute">
      <p>{session.sentences?.length ? "Choose a sentence or a citation to see its evidence; a round to see what it returned." : "Choose a round to see what it returned."}</p>
      {session.sources?.length ? (
        <>
          <h3>sources given with the question</h3>
          <ul class="sources">{session.sources.map((source) => <li key={source}><PageLink url={source} /></li>)}</ul>
        </>
      ) : null}
    </div>
  );
}

function NoPage({ citation }: { citation: Citation }): VNode {
  return (
    <div class="unread">
      <h3 class="page-title"><span class="badge u">?</span> <Text>{citation.number === null ? citation.body : String(citation.number)}</Text></h3>
      <p>{citation.number === null ? "This citation is no number: it counts as 0 in precision." : "No search gave this number to a page: it counts as 0 in precision."}</p>
    </div>
  );
}

interface Shown {
  piece: Piece;
  text: string;
  spans: Span[];
}

function PageEvidence({ session, page, sentence, whole }: { session: Session; page: Page; sentence: Sentence; whole: boolean }): VNode {
  const seen = seenIn(session, page.number);
  const pieces: Shown[] = inPageOrder(page).map((piece) => {
    const text = textOf(session, piece.text);
    return { piece, text, spans: shared(sentence.text, text) };
  });
  const ranked = [...pieces].sort((a, b) => nMarked(b.spans) - nMarked(a.spans));
  const most = ranked[0] ? nMarked(ranked[0].spans) : 0;
  const best = ranked
    .filter((each, i) => i === 0 || (nMarked(each.spans) > WORTH * most && !ranked.slice(0, i).some((better) => better.text.includes(each.text))))
    .slice(0, SHOWN);
  const shown = whole ? pieces : pieces.filter((piece) => best.includes(piece));
  return (
    <>
      <h2 class="page-title">
        <span class="badge">{page.number}</span> <Text>{page.title || "(no title)"}</Text>
      </h2>
      <dl class="facts page-facts">
        <dt>page</dt>
        <dd><PageLink url={page.url} />{page.aliases?.map((alias) => <div key={alias} class="small">also <PageLink url={alias} /></div>)}</dd>
        <dt>seen</dt>
        <dd>{seen.length ? seen.map(({ round, tool, times }, i) => <span key={i}>{i ? ", " : ""}<button type="button" class="plain link" onClick={() => goToRound(session, round, tool, page.number)}>{tool} in round {round}</button>{times > 1 ? ` (${times} times)` : ""}</span>) : "never"}{page.n_failed ? <span class="none">, {plural(page.n_failed, "call")} failed</span> : null}</dd>
        {page.total_chars === undefined ? null : <><dt>length</dt><dd>{count(page.total_chars)} characters</dd></>}
      </dl>
      {pieces.length === 0 ? <p class="none">Nothing of this page was seen: the citation counts as 0.</p> : null}
      {shown.map((each, i) => (
        <PieceBox key={i} shown={each} whole={whole} total={page.total_chars} />
      ))}
      <p class="small mute">
        <mark>marked</mark>: words shared with the sentence (a help for the eye, no verdict).{" "}
        {pieces.length ? <button type="button" class="button" aria-pressed={whole} onClick={() => go({ whole: !whole }, "replace")}>{whole ? "shorter" : `all that was seen${pieces.length > shown.length ? `, ${plural(pieces.length, "piece")}` : ""}`} <Key>e</Key></button> : null}
      </p>
    </>
  );
}

function goToRound(session: Session, round: number, tool: string, number: number): void {
  const call = (session.rounds?.[round - 1]?.calls ?? []).findIndex((each) => each.tool === tool && each.pages?.includes(number));
  go({ round, call: call + 1 }, "replace");
}

function PieceBox({ shown, whole, total }: { shown: Shown; whole: boolean; total: number | undefined }): VNode {
  const { piece, text, spans } = shown;
  const window = whole ? { start: 0, end: Math.min(text.length, 262_144) } : densest(spans, text.length, WINDOW);
  const place = piece.start_char === undefined ? "" : `characters ${count(piece.start_char)}–${count(piece.end_char ?? 0)}${total === undefined ? "" : ` of ${count(total)}`}`;
  return (
    <figure class="piece">
      <figcaption class="small mute"><b>{piece.kind}</b> {place}{piece.left_out_chars ? `, ${count(piece.left_out_chars)} more left out of this page` : ""}</figcaption>
      <div class={`ev ${whole ? "" : "compact"}`} lang={langOf(text)} dir="auto">
        {window.start ? "…" : ""}
        {marked(text, window.start, window.end, spans.map((span) => ({ ...span, cls: "" })))}
        {window.end < text.length ? "…" : ""}
      </div>
    </figure>
  );
}

function Uncited({ session, place, sentence, judge, showRaw }: { session: Session; place: Place; sentence: Sentence; judge: string; showRaw: boolean }): VNode {
  const need = place.tab === "recovered" ? undefined : unitOf(session, "need", place.sentence - 1);
  return (
    <>
      <h2 class="page-title">Sentence {place.sentence}</h2>
      <p>{sentence.citations?.length ? "Choose one of its citations." : "It cites nothing."}</p>
      {need ? <Judged kind="needs a citation" unit={need} glyph={need.verdict.label === "no" ? "●" : need.verdict.label === "yes" ? "○" : "?"} tone={need.verdict.label === "no" ? "full" : need.verdict.label === "yes" ? "none" : "unk"} showRaw={showRaw} /> : null}
      {need ? <JudgeLine judge={judge} verdict={need.verdict} showRaw={showRaw} /> : null}
    </>
  );
}

function Verdicts({ session, place, sentence, citation, judge, showRaw }: { session: Session; place: Place; sentence: Sentence; citation: Citation; judge: string; showRaw: boolean }): VNode {
  if (place.tab === "recovered") return <p class="small mute">This reading was recovered; its verdicts, where there are any, are those of the strict reading.</p>;
  const index = place.sentence - 1;
  const support = unitOf(session, "support", index);
  const numbers = [...new Set((sentence.citations ?? []).map((each) => each.number).filter((n): n is number => n !== null))];
  const relevance = numbers.map((number) => unitOf(session, "relevance", index, number)).filter((unit): unit is Unit => unit !== undefined);
  const sign = supportSign(support?.verdict.label === "full" ? "1" : support?.verdict.label === "partial" ? "1/2" : support?.verdict.label === "none" ? "0" : undefined);
  const any = support ?? relevance[0];
  return (
    <div class="verdicts">
      {support ? <Judged kind="support" unit={support} glyph={sign.glyph} tone={sign.tone} about={numbers.length > 1 ? `numbers ${numbers.join(" and ")} together` : ""} showRaw={showRaw} /> : <p class="none">Support was not asked: no citation of this sentence has evidence.</p>}
      {relevance.map((unit) => {
        const yes = unit.verdict.label === "yes";
        return <Judged key={unit.number} kind={`relevance of ${unit.number}`} unit={unit} glyph={unit.verdict.label === undefined ? "?" : yes ? "✓" : "✕"} tone={unit.verdict.label === undefined ? "unk" : yes ? "full" : "none"} here={unit.number === citation.number} showRaw={showRaw} />;
      })}
      {contradicts(support, relevance, sentence) ? <p class="small none">These two verdicts contradict one another: what the page supports alone cannot be irrelevant.</p> : null}
      {any ? <JudgeLine judge={judge} verdict={any.verdict} showRaw={showRaw} /> : null}
    </div>
  );
}

const contradicts = (support: Unit | undefined, relevance: Unit[], sentence: Sentence): boolean =>
  sentence.citations?.length === 1 && (support?.verdict.label === "full" || support?.verdict.label === "partial") && relevance[0]?.verdict.label === "no";

function Judged({ kind, unit, glyph, tone, about = "", here = false, showRaw }: { kind: string; unit: Unit; glyph: string; tone: string; about?: string; here?: boolean; showRaw: boolean }): VNode {
  const { verdict } = unit;
  return (
    <div class={`judged ${here ? "here" : ""}`}>
      <span class={`g ${tone}`} aria-hidden="true">{glyph}</span>
      <div>
        <p>
          <b class={tone}>{kind}: {verdict.label ?? "no verdict"}</b> <span class="small mute">{about}{verdict.label === undefined ? ` ${spaced(verdict.failure ?? "")}` : ""}{(verdict.attempts ?? 1) > 1 ? ` asked ${verdict.attempts} times` : ""}</span>
        </p>
        {verdict.reason ? <p class="reason"><Text>{verdict.reason}</Text></p> : null}
        {showRaw ? <RawVerdict verdict={verdict} /> : null}
      </div>
    </div>
  );
}

export function RawVerdict({ verdict }: { verdict: Verdict }): VNode {
  return (
    <div class="raw-verdict">
      <p class="small mute">prompt <code class="break">{verdict.prompt ? `sha256:${verdict.prompt}` : "not recorded"}</code></p>
      <pre><Text>{verdict.raw || "(the raw verdict is empty)"}</Text></pre>
    </div>
  );
}

function JudgeLine({ judge, verdict, showRaw }: { judge: string; verdict: Verdict; showRaw: boolean }): VNode {
  return (
    <p class="small mute judge-line">
      judge <Text>{judge}</Text>{verdict.prompt ? ` · prompt sha256:${verdict.prompt.slice(0, 8)}…` : ""}{" "}
      <ToggleRaw showRaw={showRaw} />
    </p>
  );
}

export const ToggleRaw = ({ showRaw }: { showRaw: boolean }): VNode => (
  <button type="button" class="button" aria-pressed={showRaw} onClick={toggleRawVerdicts}>{showRaw ? "hide" : "prompt and raw verdict"} <Key>v</Key></button>
);

/** What a round returned, or what was thought in it. */
export function Seen({ session, place }: { session: Session; place: Place }): VNode {
  const round = session.rounds?.[place.round - 1];
  const call = round?.calls?.[place.call - 1];
  let body: ComponentChildren;
  if (!round) body = <p class="none">This session has no round {place.round}; it has {session.rounds?.length ?? 0}.</p>;
  else if (place.call === 0) body = <Message session={session} round={round} />;
  else if (!call) body = <p class="none">Round {place.round} has no call {place.call}.</p>;
  else {
    body = (
      <>
        <h3><Text>{call.tool}</Text>{call.failure ? <span class="none"> failed: {spaced(call.failure)}</span> : null}</h3>
        <div class="ev args"><Text>{call.arguments}</Text></div>
        <h3>what the model read{call.left_out_chars ? `, ${count(call.left_out_chars)} more characters left out of this page` : ""}</h3>
        <LongText text={textOf(session, call.text)} />
      </>
    );
  }
  return (
    <>
      <h2 class="page-title">Round {place.round}{place.call ? "" : ": the model's own words"}</h2>
      {body}
    </>
  );
}
