// Text of models and web pages. It only ever becomes text nodes; what a browser would obey instead of show is written out.

import type { ComponentChildren, VNode } from "preact";

const HIDDEN =
  /\r(?=\n)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}\ud800-\udfff]/gu;
const JAPANESE = /[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{2ebef}]/u;

/** By script, not by what a page says of itself. */
export const langOf = (text: string): string | undefined => (JAPANESE.test(text.slice(0, 2000)) ? "ja" : undefined);

export interface MarkSpan {
  start: number;
  end: number;
  cls: string;
  /** Plain colouring, no mark. */
  quiet?: boolean;
  label?: string;
}

/** Text as nodes, with control and bidirectional characters visible. */
export function visible(text: string): ComponentChildren[] {
  const nodes: ComponentChildren[] = [];
  let done = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > done) nodes.push(text.slice(done, found.index));
    if (found[0] !== "\r" || text[found.index + 1] !== "\n") {
      const name = `U+${found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
      nodes.push(<span class="ctl">⟨{name}⟩</span>);
    }
    done = found.index + found[0].length;
  }
  if (done < text.length) nodes.push(text.slice(done));
  return nodes;
}

/** One line of text for titles and attributes: no element can stand there. */
export const plain = (text: string): string =>
  text.replace(HIDDEN, (found) => (found === "\r" ? "" : `⟨U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`));

export function Text({ children, cls, as = "bdi" }: { children: string; cls?: string; as?: "bdi" | "p" | "div" }): VNode {
  const Tag = as;
  const lang = langOf(children);
  return (
    <Tag class={cls} lang={lang} dir="auto">
      {visible(children)}
    </Tag>
  );
}

/** `text[start:end]` with marks; spans may overlap and reach beyond it. */
export function marked(text: string, start: number, end: number, spans: MarkSpan[]): ComponentChildren[] {
  const inside = spans.filter((span) => span.end > start && span.start < end && span.end > span.start).sort((a, b) => a.start - b.start);
  const cuts = [...new Set([start, end, ...inside.flatMap((span) => [Math.max(start, span.start), Math.min(end, span.end)])])].sort((a, b) => a - b);
  const nodes: ComponentChildren[] = [];
  let next = 0;
  let active: MarkSpan[] = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const from = cuts[i]!;
    const to = cuts[i + 1]!;
    while (next < inside.length && inside[next]!.start <= from) active.push(inside[next++]!);
    active = active.filter((span) => span.end > from);
    const shown = visible(text.slice(from, to));
    if (!active.length) nodes.push(...shown);
    else {
      const cls = active.map((span) => span.cls).join(" ");
      const label = active.find((span) => span.label)?.label;
      nodes.push(
        active.every((span) => span.quiet) ? <span class={cls}>{shown}</span> : <mark class={cls} title={label} data-from={from} data-to={to}>{shown}</mark>,
      );
    }
  }
  return nodes;
}

const SAFE = /^https?:\/\//i;

/** A link for http and https only, without referrer; anything else is mere text. */
export function PageLink({ url }: { url: string }): VNode {
  let host = "";
  try {
    host = new URL(url).host;
  } catch {
    // Not an address: shown as it is.
  }
  if (!SAFE.test(url) || !host) return <Text cls="url">{url}</Text>;
  return (
    <a class="url" href={url} rel="noreferrer noopener" target="_blank" title={`opens ${plain(host)}`}>
      <bdi>{visible(url)}</bdi>
    </a>
  );
}
