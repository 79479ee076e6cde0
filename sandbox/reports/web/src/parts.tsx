// Small parts that several screens use.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Sign } from "./words";

export function Glyph({ sign, word = true }: { sign: Sign; word?: boolean }): VNode {
  return (
    <span class={`sign ${sign.tone}`}>
      <span class="glyph" aria-hidden={word ? "true" : undefined} aria-label={word ? undefined : sign.word} role={word ? undefined : "img"}>
        {sign.glyph}
      </span>
      {word ? sign.word : null}
    </span>
  );
}

export const severityClass = (severity: string): string => (severity === "warning" ? "W" : severity === "note" ? "N" : "E");

export function Code({ code, severity }: { code: string; severity: string }): VNode {
  return <span class={`code ${severityClass(severity)}`}>{code}</span>;
}

export const Key = ({ children }: { children: string }): VNode => <kbd class="key">{children}</kbd>;

export function Panel({ title, about, children, cls = "", tools }: { title: string; about?: ComponentChildren; children: ComponentChildren; cls?: string; tools?: ComponentChildren }): VNode {
  const id = `h-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return (
    <section class={`panel ${cls}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {about ? <span class="small mute">{about}</span> : null}
        {tools}
      </header>
      {children}
    </section>
  );
}

/** Width of an element in px, kept up to date; charts are drawn in px so that their words keep their size. */
export function useWidth<T extends Element>(): [{ current: T | null }, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    setWidth(element.getBoundingClientRect().width);
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** A modal window that Esc closes; focus goes back to where it was. */
export function Dialog({ title, onClose, children, wide = false }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }): VNode {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={wide ? "wide" : ""} aria-label={title} onClose={onClose} onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
      <header>
        <h2>{title}</h2>
        <span class="grow" />
        <button class="button" type="button" onClick={() => ref.current?.close()}>
          close <Key>Esc</Key>
        </button>
      </header>
      <div class="body">{children}</div>
    </dialog>
  );
}

export function save(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
