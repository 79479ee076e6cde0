// Moving about: one place, written to the hash; Back and Forward bring an earlier one back.

import { formatPlace, parsePlace, type Place } from "./place";

let here: Place = parsePlace(location.hash);
const listeners = new Set<(place: Place) => void>();

export const place = (): Place => here;

export function onPlace(listener: (place: Place) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** "push": a step that Back undoes; "replace": a small move within the step. */
export function go(patch: Partial<Place>, how: "push" | "replace" = "push"): void {
  const next = { ...here, ...patch };
  const hash = formatPlace(next);
  if (hash !== formatPlace(here)) {
    if (how === "push") history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }
  tell(next);
}

export const NOWHERE: Partial<Place> = { sentence: 0, cite: 0, round: 0, call: 0, finding: 0, whole: false };

export const openQuestion = (row: { id: string; repeat: number }, how: "push" | "replace" = "push"): void =>
  go({ ...NOWHERE, question: row.id, repeat: row.repeat, tab: "read" }, how);

/** The hash of a place near this one, for a real link. */
export const hashOf = (patch: Partial<Place>): string => formatPlace({ ...here, ...patch });

function tell(next: Place): void {
  here = next;
  for (const listener of listeners) listener(next);
}

addEventListener("popstate", () => tell(parsePlace(location.hash)));
addEventListener("hashchange", () => {
  if (location.hash !== formatPlace(here)) tell(parsePlace(location.hash));
});
