// What a session says about a sentence or a citation, by position.

import type { Citation, Page, Piece, Sentence, Session, TextRef, Unit } from "./format";

export const textOf = (session: Session, [text, start, end]: TextRef): string => (session.texts[text] ?? "").slice(start, end);

export const raw = (session: Session): string => (session.answer ? textOf(session, session.answer) : "");

export const pageNumbered = (session: Session, number: number | null): Page | undefined =>
  number === null ? undefined : session.pages?.find((page) => page.number === number);

export const unitOf = (session: Session, kind: Unit["kind"], sentence: number, number?: number | null): Unit | undefined =>
  session.units?.find((unit) => unit.kind === kind && unit.sentences.includes(sentence) && (kind !== "relevance" || unit.number === number));

/** ✓ relevant, ✕ not, ? unreadable or without page, … no verdict. */
export function citationSign(session: Session, citation: Citation): { glyph: string; cls: string; word: string } {
  const page = pageNumbered(session, citation.number);
  if (citation.number === null) return { glyph: "?", cls: "u", word: "the number cannot be read" };
  if (!page) return { glyph: "?", cls: "u", word: "no page has this number" };
  if (!page.pieces?.length) return { glyph: "?", cls: "u", word: "nothing of this page was seen" };
  if (citation.score === "1") return { glyph: "✓", cls: "y", word: "relevant" };
  if (citation.score === "0") return { glyph: "✕", cls: "n", word: "not relevant" };
  return { glyph: "…", cls: "o", word: "no verdict" };
}

/** The recovered sentence that stands where this one does; null where nothing was recovered there. */
export function recoveredFor(session: Session, sentence: Sentence): Sentence | null {
  const all = session.recovered?.sentences ?? [];
  return all.find((other) => other.start < sentence.end && other.end > sentence.start) ?? null;
}

/** What a strict sentence lost: citations that only the recovered reading sees. */
export function lostCitations(strict: Sentence, recovered: Sentence | null): Citation[] {
  if (!recovered) return [];
  const seen = new Set((strict.citations ?? []).map((citation) => citation.number));
  return (recovered.citations ?? []).filter((citation) => !seen.has(citation.number));
}

export interface Seen {
  round: number;
  tool: string;
  times: number;
}

export function seenIn(session: Session, number: number): Seen[] {
  const seen: Seen[] = [];
  session.rounds?.forEach((round, i) =>
    round.calls?.forEach((call) => {
      if (!call.pages?.includes(number)) return;
      const same = seen.find((each) => each.round === i + 1 && each.tool === call.tool);
      if (same) same.times++;
      else seen.push({ round: i + 1, tool: call.tool, times: 1 });
    }),
  );
  return seen;
}

/** The pieces of a page in the order of its text; those without a place, in the order in which they were seen. */
export const inPageOrder = (page: Page): Piece[] => [...(page.pieces ?? [])].sort((a, b) => (a.start_char ?? -1) - (b.start_char ?? -1));

export interface Address {
  url: string | null;
  number: number | null;
  words: string;
}

/** What a tool call was about, in a few words. */
export function callAbout(session: Session, tool: string, argumentsText: string): string {
  let given: unknown;
  try {
    given = JSON.parse(argumentsText);
  } catch {
    return argumentsText;
  }
  if (given === null || typeof given !== "object") return argumentsText;
  const args = given as Record<string, unknown>;
  const target = args.url_or_number;
  const page = typeof target === "number" || (typeof target === "string" && /^\d+$/.test(target)) ? pageNumbered(session, Number(target)) : undefined;
  const where = page ? bare(page.url) : typeof target === "string" ? bare(target) : target === undefined ? "" : String(target);
  if (tool === "search" && typeof args.query === "string") return args.query + (typeof args.result_page === "number" && args.result_page > 1 ? ` (page ${args.result_page})` : "");
  if (tool === "find") {
    const keywords = Array.isArray(args.keywords) ? args.keywords : [args.keywords];
    return `「${keywords.map(String).join("」「")}」 in ${page ? page.number : where}`;
  }
  if (tool === "fetch" && where) {
    const from = typeof args.physical_page === "number" ? ` p. ${args.physical_page}` : typeof args.start === "number" && args.start > 0 ? ` from ${args.start}` : "";
    return where + from;
  }
  return argumentsText;
}

const bare = (url: string): string => url.replace(/^https?:\/\/(www\.)?/i, "");
