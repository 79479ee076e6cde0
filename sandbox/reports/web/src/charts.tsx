// Charts as plain SVG: vector in print, coloured by the style sheet, each with a label that says its numbers.

import type { VNode } from "preact";
import type { Decisions, RunShown, Summary } from "./format";
import { useWidth } from "./parts";
import { mark, OUTCOMES, plural, points, rate } from "./words";

const percent = (value: number): string => `${Math.max(0, Math.min(100, value))}%`;

function Grid({ top, bottom }: { top: number; bottom: number }): VNode {
  return (
    <>
      {[0, 25, 50, 75, 100].map((x) => (
        <line key={x} class="grid-line" x1={percent(x)} x2={percent(x)} y1={top} y2={bottom} />
      ))}
    </>
  );
}

export interface Dot {
  /** Points. */
  value: number;
  interval: [number, number] | null;
  hollow: boolean;
  /** Which run; gives the mark its form. */
  run: number;
}

/** Values with their intervals on one axis from 0 to 100. */
export function Dots({ label, dots }: { label: string; dots: Dot[] }): VNode {
  const height = 18;
  return (
    <svg class="dots" width="100%" height={height} role="img" aria-label={label}>
      <Grid top={-8} bottom={height + 8} />
      {dots.map((dot) => {
        const tone = dot.hollow ? "fmt" : `run${dot.run}`;
        const y = dots.length > 1 ? 4 + (10 * dot.run) / Math.max(1, dots.length - 1) : 9;
        return (
          <g key={dot.run} class={tone}>
            {dot.interval ? (
              <rect class="interval" x={percent(dot.interval[0])} width={percent(Math.max(0.3, dot.interval[1] - dot.interval[0]))} y={y - 2.5} height="5" rx="1.5" />
            ) : null}
            <Mark run={dot.run} x={dot.value} y={y} hollow={dot.hollow} />
          </g>
        );
      })}
    </svg>
  );
}

function Mark({ run, x, y, hollow }: { run: number; x: number; y: number; hollow: boolean }): VNode {
  if (run === 0) return <circle class={hollow ? "hollow" : "solid"} cx={percent(x)} cy={y} r="4" />;
  return (
    <text class={`glyph-mark ${hollow ? "hollow" : ""}`} x={percent(x)} y={y + 4.5} text-anchor="middle">
      {mark(run)}
    </text>
  );
}

/** Strict and recovered F1 of one answer, or the F1 of several runs, on one axis. */
export function Dumbbell({ label, from, to, hollow }: { label: string; from: number | null; to: number | null; hollow: boolean }): VNode {
  return (
    <span class="dumbbell">
      <svg width="100%" height="16" overflow="visible" role="img" aria-label={label}>
        <line class="axis" x1="0" x2="100%" y1="8" y2="8" />
        {from !== null && to !== null && from !== to ? (
          <line class="reach" x1={percent(Math.min(from, to))} x2={percent(Math.max(from, to))} y1="8" y2="8" />
        ) : null}
        {to === null ? null : hollow ? (
          <circle class="hollow" cx={percent(to)} cy="8" r="4" />
        ) : (
          <svg x={percent(to)} y="8" overflow="visible"><path class="solid b" d="M-5,0 0,-5 5,0 0,5Z" /></svg>
        )}
        {from !== null ? <circle class="solid" cx={percent(from)} cy="8" r={from === to && hollow ? 2 : 4} /> : null}
      </svg>
    </span>
  );
}

/** Where 100 points of citation F1 go. */
export function LossBar({ summary }: { summary: Summary }): VNode {
  const [ref, width] = useWidth<HTMLDivElement>();
  const { strict_f1: strict, format_loss: format, evidence_loss: evidence } = summary.format;
  if (strict === null) return <p class="mute">No answer counts in citation F1.</p>;
  const parts =
    format === null || evidence === null
      ? [
          { cls: "scored", value: strict, word: "scored" },
          { cls: "evi", value: 1 - strict, word: "lost" },
        ]
      : [
          { cls: "scored", value: strict, word: "scored" },
          { cls: "fmt", value: format, word: "lost to format" },
          { cls: "evi", value: evidence, word: "lost to evidence" },
        ];
  const unanswered = summary.outcomes.generation_failed / Math.max(1, summary.metrics.citation_f1?.n ?? 1);
  const fits = (part: { value: number; word: string }) => part.value * width > 7.4 * `${rate(part.value)} ${part.word}`.length + 18;
  const out = parts.filter((part) => !fits(part));
  return (
    <div ref={ref}>
      <div class="bar" role="img" aria-label={parts.map((part) => `${rate(part.value)} ${part.word}`).join(", ")}>
        {parts.map((part) => (part.value > 0 ? <div key={part.cls} class={part.cls} style={{ width: `${100 * part.value}%` }}>{fits(part) ? `${rate(part.value)} ${part.word}` : ""}</div> : null))}
      </div>
      {summary.format.recovered_undecided ? (
        <p class="small mute bar-legend">What is lost to format and what to evidence is not told apart: mended sentences of {plural(summary.format.recovered_undecided, "answer")} were never judged (pincite score RUN --recovered).</p>
      ) : null}
      {out.length || (unanswered && evidence !== null) ? (
        <p class="bar-legend small">
          {out.map((part) => (
            <span key={part.cls}>
              <i class={`swatch ${part.cls}`} />
              {rate(part.value)} {part.word}
            </span>
          ))}
          {unanswered && evidence !== null ? <span class="mute">of what is lost to evidence, {rate(unanswered)} where no answer was written</span> : null}
        </p>
      ) : null}
    </div>
  );
}

interface Strip {
  key: string;
  n: number;
  title: string;
  about: string;
  query: string;
  tone: string;
}

const COUNTING: Record<string, string> = {
  answered: "",
  generation_failed: "count 0 in every score",
  context_overflow: "consistency 0, left out of F1",
  judge_error: "0 where a verdict is missing",
};

/** What became of the questions: asked → outcome → readable or not (or: passed or not). Every strip is a filter. */
export function Flow({ summary, decisions, onFilter }: { summary: Summary; decisions: Decisions | null; onFilter: (query: string) => void }): VNode {
  const [ref, width] = useWidth<HTMLDivElement>();
  const total = summary.sessions;
  const outcomes = summary.outcomes;
  const bad = summary.format.unparsable;
  const withAnswer = outcomes.answered + outcomes.judge_error;
  const second: Strip[] = [
    { key: "answered", n: outcomes.answered, title: "answered", about: "", query: "outcome:answered", tone: "full" },
    ...(["judge_error", "generation_failed", "context_overflow"] as const).map((name) => ({
      key: name,
      n: outcomes[name],
      title: OUTCOMES[name]!,
      about: decisions ? "" : COUNTING[name]!,
      query: `outcome:${name}`,
      tone: "none",
    })),
  ].filter((strip) => strip.n > 0);
  const third: Strip[] = (decisions ? decidedStrips(decisions, withAnswer) : [
    { key: "readable", n: withAnswer - bad, title: "readable", about: "F1 as judged", query: "is:readable", tone: "full" },
    { key: "unparsable", n: bad, title: "unparsable", about: "F1 counts them as 0", query: "is:unparsable", tone: "fmt" },
  ]).filter((strip) => strip.n > 0);
  const ends = decisions ? third.map((strip) => `${strip.n} ${strip.title}`).join(", ") : `${withAnswer - bad} are readable, ${bad} unparsable`;
  const label = `${total} asked: ${second.map((strip) => `${strip.n} ${strip.title}`).join(", ")}. Of the answers, ${ends}.`;
  return (
    <div ref={ref} class="flow">
      {width && total ? <FlowDrawing width={width} total={total} second={second} third={third} about={decisions ? "" : `consistency counts all ${total}`} label={label} onFilter={onFilter} /> : null}
      <ul class="zero small mute">
        {(["generation_failed", "context_overflow", "judge_error"] as const).filter((name) => !outcomes[name]).map((name) => (
          <li key={name}>0 {OUTCOMES[name]}</li>
        ))}
        {bad === 0 && !decisions ? <li>0 unparsable</li> : null}
      </ul>
    </div>
  );
}

function decidedStrips({ passed, undecided }: Decisions, withAnswer: number): Strip[] {
  return [
    { key: "passed", n: passed, title: passed === 1 ? "passes" : "pass", about: "", query: "is:passed", tone: "full" },
    { key: "failed", n: withAnswer - passed - undecided, title: "do not pass", about: "", query: "is:failed", tone: "fmt" },
    { key: "undecided", n: undecided, title: "undecided", about: "no verdict", query: "is:undecided", tone: "none" },
  ];
}

interface Placed extends Strip {
  y: number;
  h: number;
}

function placed(strips: Strip[], total: number, height: number, from: number): Placed[] {
  let y = from;
  return strips.map((strip) => {
    const h = Math.max(3, (strip.n / total) * height);
    const here = { ...strip, y, h };
    y += h + 26;
    return here;
  });
}

function FlowDrawing({ width, total, second, third, about, label, onFilter }: { width: number; total: number; second: Strip[]; third: Strip[]; about: string; label: string; onFilter: (query: string) => void }): VNode {
  const node = 12;
  const full = 150;
  const top = 10;
  const narrow = width < 430;
  const x2 = width * (narrow ? 0.3 : 0.33);
  const x3 = width * (narrow ? 0.64 : 0.68);
  const a = placed(second, total, full, top);
  const answers = a.filter((strip) => strip.key === "answered" || strip.key === "judge_error");
  const b = placed(third, total, full, top);
  const lowest = Math.max(...[...a, ...b].map((strip) => strip.y + Math.max(strip.h, 30)));
  const height = Math.max(top + full + 12, lowest + 6);
  let fromLeft = top;
  const left = a.map((strip) => {
    const y = fromLeft;
    const h = (strip.n / total) * full;
    fromLeft += h;
    return { strip, y, h: Math.max(1.5, h) };
  });
  // Readable and unparsable leave the answers from top to bottom; where two outcomes have answers, the first carries on.
  let down = 0;
  const right = b.map((strip) => {
    const source = answers[0];
    const y = (source?.y ?? top) + down;
    const h = (strip.n / total) * full;
    down += h;
    return { strip, y, h: Math.max(1.5, h) };
  });
  return (
    <svg width={width} height={height} role="group" aria-label={label}>
      {left.map(({ strip, y, h }) => (
        <path key={strip.key} class={`band ${strip.tone}`} d={band(node, y, h, x2, strip.y, strip.h)} />
      ))}
      {right.map(({ strip, y, h }) => (
        <path key={strip.key} class={`band ${strip.tone}`} d={band(x2 + node, y, h, x3, strip.y, strip.h)} />
      ))}
      <rect class="node ink" x="0" y={top} width={node} height={full} rx="2" />
      <FlowLabel x={node + 6} y={top + 15} title={`${total} asked`} about="" query="" onFilter={onFilter} room={x2 - node - 8} />
      {a.map((strip) => (
        <g key={strip.key}>
          <rect class={`node ${strip.tone}`} x={x2} y={strip.y} width={node} height={strip.h} rx="2" />
          <FlowLabel x={x2 + node + 6} y={strip.h > 60 ? strip.y + 15 : strip.y + strip.h / 2 + 4} title={`${strip.n} ${narrow ? strip.title.split(" ").at(-1) : strip.title}`} about={narrow ? "" : strip.key === "answered" ? about : strip.about} query={strip.query} onFilter={onFilter} room={(strip.key === "answered" || narrow ? x3 : width) - x2 - node - 8} />
        </g>
      ))}
      {b.map((strip) => (
        <g key={strip.key}>
          <rect class={`node ${strip.tone}`} x={x3} y={strip.y} width={node} height={strip.h} rx="2" />
          <FlowLabel x={x3 + node + 6} y={strip.h > 40 ? strip.y + 15 : strip.y + strip.h / 2 + 4} title={`${strip.n} ${strip.title}`} about={strip.about} query={strip.query} onFilter={onFilter} room={width - x3 - node - 8} />
        </g>
      ))}
    </svg>
  );
}

const band = (x1: number, y1: number, h1: number, x2: number, y2: number, h2: number): string => {
  const m = (x1 + x2) / 2;
  return `M${x1},${y1} C${m},${y1} ${m},${y2} ${x2},${y2} L${x2},${y2 + h2} C${m},${y2 + h2} ${m},${y1 + h1} ${x1},${y1 + h1}Z`;
};

function FlowLabel({ x, y, title, about, query, onFilter, room }: { x: number; y: number; title: string; about: string; query: string; onFilter: (query: string) => void; room: number }): VNode {
  const lines = room < 60 ? [] : wrapped(about, Math.floor(room / 6.2));
  const words = (
    <>
      {[title].map((line, i, all) => (
        <text key={i} class="b" x={x} y={y + 15 * (i - (all.length - 1))}>{line}</text>
      ))}
      {lines.map((line, i) => (
        <text key={i} x={x} y={y + 16 + 15 * i}>
          {line}
        </text>
      ))}
    </>
  );
  if (!query) return <g>{words}</g>;
  return (
    <a
      class="strip"
      href={`#q=${query}`}
      onClick={(event) => {
        event.preventDefault();
        onFilter(query);
      }}
    >
      <rect class="target" x={x - 4} y={y - 15} width={Math.max(40, room)} height={24 + 15 * lines.length} />
      {words}
    </a>
  );
}

function wrapped(text: string, width: number): string[] {
  if (!text) return [];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export interface Part {
  tone: string;
  word: string;
  n: number;
}

export interface Bin {
  label: string;
  parts: Part[];
}

/** Counts per bin, stacked by outcome. */
export function Histogram({ bins, label, unit }: { bins: Bin[]; label: string; unit: string }): VNode {
  const [ref, width] = useWidth<HTMLDivElement>();
  const height = 96;
  const most = Math.max(1, ...bins.map((bin) => bin.parts.reduce((sum, part) => sum + part.n, 0)));
  const step = width / Math.max(1, bins.length);
  return (
    <div ref={ref}>
      {width ? (
        <svg width={width} height={height + 18} role="img" aria-label={`${label}: ${bins.map((bin) => `${bin.label} ${unit}: ${bin.parts.map((part) => `${part.n} ${part.word}`).join(", ") || "0"}`).join("; ")}`}>
          {bins.map((bin, i) => {
            let y = height;
            return (
              <g key={bin.label}>
                {bin.parts.map((part) => {
                  const h = (part.n / most) * (height - 14);
                  y -= h;
                  return (
                    <rect key={part.word} class={`solid ${part.tone}`} x={i * step + 1.5} width={Math.max(1, step - 3)} y={y} height={h}>
                      <title>{`${bin.label} ${unit}: ${part.n} ${part.word}`}</title>
                    </rect>
                  );
                })}
                {bins.length <= 16 || i % Math.ceil(bins.length / 10) === 0 ? (
                  <text x={i * step + step / 2} y={height + 14} text-anchor="middle">
                    {bin.label}
                  </text>
                ) : null}
              </g>
            );
          })}
          <line class="axis" x1="0" x2={width} y1={height} y2={height} />
        </svg>
      ) : null}
    </div>
  );
}

export const dotsLabel = (name: string, run: RunShown, value: number, interval: [number, number] | null, many: boolean): string =>
  `${name}${many ? ` ${run.letter}` : ""} ${points(value)}${interval ? `, 95 % interval ${points(interval[0])} to ${points(interval[1])}` : ""}`;
