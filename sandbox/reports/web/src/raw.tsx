// The raw answer as sent: line numbers, a wavy line under each finding, and what it says below the line.

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Finding, Session } from "./format";
import { go } from "./nav";
import { Code, save, severityClass } from "./parts";
import type { Place } from "./place";
import { raw } from "./reading";
import { langOf, marked, type MarkSpan, Text } from "./text";
import { count, NOTHING, plural, points } from "./words";

const SLICE = 65_536;
const MOST_FINDINGS = 300;
const TAG = /<\/?[A-Za-z][^<>\n]{0,80}>|<\|plamo:[a-z]+_[A-Za-z0-9_-]{1,64}:plamo\|>/g;

interface Line {
  number: number;
  start: number;
  end: number;
}

function linesOf(text: string, end: number): Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start <= end) {
    const newline = text.indexOf("\n", start);
    const stop = newline < 0 || newline > end ? end : newline;
    const returned = stop > start && stop === newline && text[stop - 1] === "\r";
    lines.push({ number: lines.length + 1, start, end: returned ? stop - 1 : stop });
    start = stop + 1;
  }
  return lines;
}

export function Raw({ session, place }: { session: Session; place: Place }): VNode | null {
  const [slices, setSlices] = useState(1);
  const text = raw(session);
  const all = session.findings ?? [];
  const findings = all.slice(0, MOST_FINDINGS);
  const end = Math.min(text.length, slices * SLICE);
  const lines = useMemo(() => linesOf(text, end), [text, end]);
  if (session.answer === undefined) return null;
  const spans: MarkSpan[] = [
    ...[...text.slice(0, end).matchAll(TAG)].map((found): MarkSpan => ({ start: found.index, end: found.index + found[0].length, cls: "tag", quiet: true })),
    ...findings.map((finding, i): MarkSpan => ({ start: finding.start, end: Math.max(finding.end, finding.start + 1), cls: `u ${severityClass(finding.severity)} f${i + 1} ${place.finding === i + 1 ? "at" : ""}`, label: finding.code })),
  ];
  const below = new Map<number, [Finding, number][]>();
  findings.forEach((finding, i) => {
    const line = lines.findLast((each) => each.start <= finding.start) ?? lines[0]!;
    below.set(line.number, [...(below.get(line.number) ?? []), [finding, i + 1]]);
  });
  return (
    <section id="raw" class="raw-section" aria-label="Raw text">
      <div class="tabs">
        <h2>Raw text{all.length ? `, ${plural(all.length, "finding")}` : ""}</h2>
        <button type="button" class="button" onClick={() => void copy(text)}>copy</button>
        <button type="button" class="button" onClick={() => save(`${session.id}.txt`, "text/plain;charset=utf-8", [text])}>save</button>
        <span class="grow" />
        {findings.some((finding) => finding.points !== undefined) ? <span class="small mute">F1 points if only this were mended</span> : null}
      </div>
      {session.not_checked?.length ? <p class="small mute note">not checked here: {session.not_checked.join(", ")}</p> : null}
      <ol class="raw">
        {lines.map((line) => (
          <li key={line.number}>
            <div class="ln">
              <span class="no" aria-hidden="true">{line.number}</span>
              <code lang={langOf(text.slice(line.start, line.end))} dir="auto">{marked(text, line.start, line.end, spans.filter((span) => span.start <= line.end && span.end >= line.start))}</code>
            </div>
            {below.get(line.number)?.map(([finding, place_]) => (
              <FindingLine key={place_} finding={finding} on={place.finding === place_} onClick={() => goToFinding(session, finding, place_)} />
            ))}
          </li>
        ))}
      </ol>
      {all.length > findings.length ? <p class="small mute">{count(all.length - findings.length)} more findings are not shown.</p> : null}
      {end < text.length ? (
        <p class="small">
          <span class="mute">{count(end)} of {count(text.length)} units shown </span>
          <button type="button" class="button" onClick={() => setSlices(slices + 1)}>next</button>
        </p>
      ) : null}
    </section>
  );
}

function FindingLine({ finding, on, onClick }: { finding: Finding; on: boolean; onClick: () => void }): VNode {
  return (
    <button type="button" class={`find ${on ? "on" : ""}`} onClick={onClick} aria-pressed={on} data-code={finding.code}>
      <Code code={finding.code} severity={finding.severity} />
      <span class="mute num where">{finding.line}:{finding.column} [{finding.start_char}–{finding.end_char})</span>
      <span class="what"><Text>{finding.message}</Text> {finding.fix ? <span class="fix">→ <Text>{finding.fix}</Text></span> : null}</span>
      <span class="pts num">{finding.points === undefined ? NOTHING : finding.points > 0 ? `+${points(finding.points)}` : "0.0"}</span>
    </button>
  );
}

function goToFinding(session: Session, finding: Finding, place: number): void {
  const sentence = (session.sentences ?? []).findIndex((each) => finding.start >= each.start && finding.start < each.end);
  const cites = session.sentences?.[sentence]?.citations ?? [];
  const cite = cites.findIndex((each) => finding.start < each.end && finding.end > each.start);
  go({ finding: place, round: 0, call: 0, tab: "read", sentence: sentence + 1, cite: cite >= 0 ? cite + 1 : cites.length ? 1 : 0 }, "replace");
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page opened from a file may not write to the clipboard: the text can still be saved.
  }
}
