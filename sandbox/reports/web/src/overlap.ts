// Which words of a sentence stand in its evidence: a help for the eye, no verdict. As sandbox/reports/overlap.py.

export interface Span {
  start: number;
  end: number;
}

interface Folded {
  chars: string[];
  /** For each of `chars`, where it came from. */
  from: number[];
  to: number[];
}

const SPACE = /[\s\u200b-\u200f\u2060\ufeff]/;
const DASH = /[‐‑‒–—―−─━﹘﹣－ー⁃]/;
const LEAST = 2;
const LEAST_HIRAGANA = 4;

function folded(text: string): Folded {
  const out: string[] = [];
  const from: number[] = [];
  const to: number[] = [];
  let at = 0;
  for (const char of text) {
    const next = at + char.length;
    if (!SPACE.test(char)) {
      const simple = DASH.test(char) ? "-" : char.normalize("NFKC").toLowerCase();
      for (const unit of simple) {
        out.push(unit);
        from.push(at);
        to.push(next);
      }
    }
    at = next;
  }
  return { chars: out, from, to };
}

/** The stretches of `evidence` whose neighbouring characters also stand side by side in `sentence`, in order. */
export function shared(sentence: string, evidence: string): Span[] {
  const words = folded(sentence).chars;
  const pairs = new Set<string>();
  for (let i = 0; i + 1 < words.length; i++) pairs.add(words[i]! + words[i + 1]!);
  const page = folded(evidence);
  const { chars } = page;
  const spans: Span[] = [];
  const close = (start: number, end: number) => {
    if (telling(chars.slice(start, end))) spans.push({ start: page.from[start]!, end: page.to[end - 1]! });
  };
  let start = -1;
  for (let i = 0; i + 1 < chars.length; i++) {
    if (pairs.has(chars[i]! + chars[i + 1]!)) {
      if (start < 0) start = i;
    } else if (start >= 0) {
      close(start, i + 1);
      start = -1;
    }
  }
  if (start >= 0) close(start, chars.length);
  return spans;
}

const ALNUM = /[\p{L}\p{N}]/u;
const HIRAGANA = /[ぁ-ゖ]/;

function telling(run: string[]): boolean {
  const n = run.filter((char) => ALNUM.test(char)).length;
  const grammar = run.every((char) => HIRAGANA.test(char) || !ALNUM.test(char));
  return n >= (grammar ? LEAST_HIRAGANA : LEAST);
}

export const nMarked = (spans: Span[]): number => spans.reduce((sum, span) => sum + span.end - span.start, 0);

/** The window of at most `width` units that holds most marked ones; the beginning where nothing is marked. */
export function densest(spans: Span[], length: number, width: number): Span {
  let best = 0;
  let most = 0;
  let right = 0;
  let inside = 0;
  for (const span of spans) {
    while (right < spans.length && spans[right]!.start < span.start + width) {
      inside += spans[right]!.end - spans[right]!.start;
      right++;
    }
    if (inside > most) {
      best = span.start;
      most = inside;
    }
    inside -= span.end - span.start;
  }
  const start = Math.max(0, Math.min(best - Math.floor(width / 8), length - width));
  return { start, end: Math.min(length, start + width) };
}
