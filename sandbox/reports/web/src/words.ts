// How figures and labels are written.

import type { Row } from "./format";

export const NOTHING = "–";

/** Points with one decimal, rounded as Python does (half to even), so that page, terminal and files agree. */
export function points(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const quarters = value * 4;
  if (Number.isInteger(quarters) && Math.abs(quarters % 4) === 1) return (value - Math.sign(value) * 0.05).toFixed(1);
  return value.toFixed(1);
}

export const rate = (value: number | null | undefined): string => points(value === null || value === undefined ? null : 100 * value);

export const range = (ends: [number, number] | null | undefined): string => (ends ? `${rate(ends[0])} – ${rate(ends[1])}` : NOTHING);

export const count = (n: number): string => n.toLocaleString("en-US");

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

export const spaced = (key: string): string => key.replaceAll("_", " ");

/** A sentence on the questions that could not be asked, and why; nothing where all were. */
export function unasked(leftOut: Record<string, number> | undefined): string {
  const reasons = Object.entries(leftOut ?? {});
  return reasons.length ? ` Not asked, and in no score: ${reasons.map(([reason, n]) => `${n} ${spaced(reason)}`).join(", ")}.` : "";
}

export function short(n: number): string {
  if (n < 1000) return String(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function duration(s: number): string {
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

export function signed(value: number | null): string {
  if (value === null) return NOTHING;
  const text = points(Math.abs(value));
  return text === "0.0" ? "0.0" : `${value < 0 ? "−" : "+"}${text}`;
}

/** Exact fraction as points: "1/3" → 33.3. */
export function exact(fraction: string | undefined): number | null {
  if (fraction === undefined) return null;
  const [above, below] = fraction.split("/");
  return (100 * Number(above)) / Number(below ?? "1");
}

export const METRICS: [key: string, name: string, about: string, depth: number][] = [
  ["consistency", "Consistency", "with the reference answer", 0],
  ["citation_f1", "Citation F1", "strict reading", 0],
  ["citation_recall", "recall", "", 1],
  ["citation_precision", "precision", "", 1],
  ["source_found", "Source found", "a given source was shown", 0],
  ["source_cited", "Source cited", "a given source was cited", 0],
];

export const OUTCOMES: Record<string, string> = {
  answered: "answered",
  generation_failed: "generation failed",
  context_overflow: "context overflow",
  judge_error: "judge error",
};

export interface Sign {
  glyph: string;
  tone: "full" | "part" | "none" | "unk";
  word: string;
}

export function supportSign(score: string | undefined): Sign {
  switch (score) {
    case "1":
      return { glyph: "●", tone: "full", word: "full" };
    case "1/2":
      return { glyph: "◐", tone: "part", word: "partial" };
    case "0":
      return { glyph: "○", tone: "none", word: "none" };
    default:
      return { glyph: "?", tone: "unk", word: "no verdict" };
  }
}

export function answerSign(label: string | null): Sign {
  switch (label) {
    case "consistent":
      return { glyph: "✓", tone: "full", word: "consistent" };
    case "contradictory":
      return { glyph: "✕", tone: "none", word: "contradicts" };
    case "insufficient":
      return { glyph: "–", tone: "part", word: "insufficient" };
    default:
      return { glyph: "?", tone: "unk", word: "not judged" };
  }
}

/** How a session went by its one verdict: the label, or what came instead of an answer. */
export function decidedSign(row: Row): Sign {
  const { verdict, passed } = row.decided!;
  const word = verdict ?? (row.outcome === "answered" || row.outcome === "judge_error" ? "no verdict" : OUTCOMES[row.outcome]!.split(" ").at(-1)!);
  if (passed === null) return { glyph: row.decided!.leftOut ? NOTHING : "?", tone: "unk", word };
  return passed ? { glyph: "✓", tone: "full", word } : { glyph: "✕", tone: "none", word };
}

export const MARKS = ["●", "◆", "▲", "■", "▼", "★"];
export const mark = (place: number): string => MARKS[place % MARKS.length]!;
