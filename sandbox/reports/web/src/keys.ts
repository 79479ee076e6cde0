// Single keys. Off in text fields and with modifiers; each does what a button does.

import { sentencesOf } from "./answer";
import type { Row } from "./format";
import { go, NOWHERE, openQuestion, place as here } from "./nav";
import { close, step } from "./question";
import { otherOf, type Run, type Runs } from "./runs";
import { session as load } from "./sessions";
import { copyLink, toggleRawVerdicts, turn } from "./switches";

export const KEYS: [keys: string, does: string][] = [
  ["/", "search"],
  ["j  k", "next and previous question within the filter"],
  ["Enter", "open the question in focus"],
  ["u  Esc", "back to the questions"],
  ["[  ]", "previous and next sentence"],
  ["1 – 9", "citation of the sentence"],
  ["e", "all that was seen of the page, or the best pieces"],
  ["r", "recovered reading"],
  ["x", "answer as read, and the raw text"],
  ["v", "prompt hash and raw verdict"],
  ["c", "compare runs"],
  ["y", "copy the link to this place"],
  ["?", "this list"],
];

/** Keys that mean something only where citations are scored. */
export const CITED_KEYS = new Set(["[  ]", "1 – 9", "e", "r"]);

export interface Scene {
  runs: Runs;
  run: Run;
  row: Row | undefined;
  rows: () => Row[];
}

export function onKey(event: KeyboardEvent, scene: Scene): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const done = here().question === null ? inTable(event, scene) : inQuestion(event, scene);
  if (done || anywhere(event)) event.preventDefault();
}

function anywhere(event: KeyboardEvent): boolean {
  switch (event.key) {
    case "?":
      turn({ help: true });
      return true;
    case "y":
      void copyLink();
      return true;
    default:
      return false;
  }
}

function inTable(event: KeyboardEvent, scene: Scene): boolean {
  switch (event.key) {
    case "/":
      document.getElementById("search")?.focus();
      return true;
    case "j":
    case "k":
      return moveFocus(event.key === "j" ? 1 : -1);
    case "Enter": {
      const name = document.activeElement?.closest("tr")?.dataset.name;
      const row = scene.run.rows.find((each) => each.name === name);
      if (!row || document.activeElement instanceof HTMLButtonElement) return false;
      openQuestion(row);
      return true;
    }
    default:
      return false;
  }
}

function moveFocus(by: 1 | -1): boolean {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".qt td.id a")];
  const at = links.findIndex((link) => link.closest("tr") === document.activeElement?.closest("tr"));
  const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
  next?.focus();
  next?.closest("tr")?.scrollIntoView({ block: "nearest" });
  return true;
}

function inQuestion(event: KeyboardEvent, scene: Scene): boolean {
  const place = here();
  switch (event.key) {
    case "/":
      close();
      setTimeout(() => document.getElementById("search")?.focus());
      return true;
    case "j":
    case "k":
      step(scene.rows(), scene.row, event.key === "j" ? 1 : -1);
      return true;
    case "u":
    case "Escape":
      close();
      return true;
    case "e":
      go({ whole: !place.whole }, "replace");
      return true;
    case "r":
      if (!scene.run.cited) return false;
      go({ ...NOWHERE, tab: place.tab === "recovered" ? "read" : "recovered" });
      return true;
    case "c":
      if (!otherOf(scene.runs, scene.run)) return false;
      go({ ...NOWHERE, tab: place.tab === "compare" ? "read" : "compare" });
      return true;
    case "x":
      if (place.tab !== "read") go({ ...NOWHERE, tab: "read" });
      setTimeout(() => document.getElementById("raw")?.scrollIntoView({ block: "start" }));
      return true;
    case "v":
      toggleRawVerdicts();
      return true;
    case "[":
    case "]":
      void moveSentence(scene, event.key === "]" ? 1 : -1);
      return true;
    default:
      if (/^[1-9]$/.test(event.key)) {
        void chooseCitation(scene, Number(event.key));
        return true;
      }
      return false;
  }
}

async function moveSentence(scene: Scene, by: 1 | -1): Promise<void> {
  if (!scene.row) return;
  const session = await load(scene.row.name, scene.runs.index.folder);
  const place = here();
  const sentences = sentencesOf(session, place.tab);
  const next = Math.max(1, Math.min(sentences.length, place.sentence + by));
  if (sentences.length) go({ sentence: next, cite: sentences[next - 1]?.citations?.length ? 1 : 0, round: 0, call: 0, finding: 0 }, "replace");
}

async function chooseCitation(scene: Scene, cite: number): Promise<void> {
  if (!scene.row) return;
  const session = await load(scene.row.name, scene.runs.index.folder);
  const place = here();
  const sentences = sentencesOf(session, place.tab);
  const sentence = place.sentence || sentences.findIndex((each) => each.citations?.length) + 1;
  if (cite <= (sentences[sentence - 1]?.citations?.length ?? 0)) go({ sentence, cite, round: 0, call: 0, finding: 0 }, "replace");
}
