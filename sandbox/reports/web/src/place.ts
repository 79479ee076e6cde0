// Where the reader is: everything that a link must bring back stands in the hash, nothing anywhere else.

export type Tab = "read" | "recovered" | "compare";
export type Theme = "auto" | "light" | "dark";

export interface Place {
  run: string;
  question: string | null;
  repeat: number;
  tab: Tab;
  /** From 1, as shown; 0 = none. So are cite (place in the sentence), round, call (0 = the message itself) and finding. */
  sentence: number;
  cite: number;
  round: number;
  call: number;
  finding: number;
  whole: boolean;
  q: string;
  sort: string;
  theme: Theme;
}

export const DEFAULT: Place = {
  run: "A",
  question: null,
  repeat: 0,
  tab: "read",
  sentence: 0,
  cite: 0,
  round: 0,
  call: 0,
  finding: 0,
  whole: false,
  q: "",
  sort: "-loss",
  theme: "auto",
};

const NUMBERS = ["repeat", "sentence", "cite", "round", "call", "finding"] as const;

export function parsePlace(hash: string): Place {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = { ...DEFAULT };
  place.run = given.get("run") ?? DEFAULT.run;
  place.question = given.get("question");
  for (const name of NUMBERS) {
    const value = Number(given.get(name) ?? "");
    if (Number.isSafeInteger(value) && value > 0) place[name] = value;
  }
  const tab = given.get("tab");
  if (tab === "recovered" || tab === "compare") place.tab = tab;
  const theme = given.get("theme");
  if (theme === "light" || theme === "dark") place.theme = theme;
  place.whole = given.get("whole") === "1";
  place.q = given.get("q") ?? "";
  place.sort = given.get("sort") ?? DEFAULT.sort;
  return place;
}

/** The hash of a place, without what is at its default. */
export function formatPlace(place: Place): string {
  const parts: string[] = [];
  const put = (name: string, value: string) => parts.push(`${name}=${escaped(value)}`);
  if (place.run !== DEFAULT.run) put("run", place.run);
  if (place.question !== null) put("question", place.question);
  if (place.repeat) put("repeat", String(place.repeat));
  if (place.question !== null) {
    if (place.tab !== DEFAULT.tab) put("tab", place.tab);
    for (const name of ["sentence", "cite", "round", "call", "finding"] as const) {
      if (place[name]) put(name, String(place[name]));
    }
    if (place.whole) put("whole", "1");
  }
  if (place.q) put("q", place.q);
  if (place.sort !== DEFAULT.sort) put("sort", place.sort);
  if (place.theme !== DEFAULT.theme) put("theme", place.theme);
  return `#${parts.join("&")}`;
}

/** Percent-encoded where a hash needs it; what a person reads in a filter stays readable. */
function escaped(value: string): string {
  // A lone surrogate cannot be encoded: it becomes U+FFFD.
  return encodeURIComponent(value.toWellFormed()).replace(/%(3A|2C|2F|3C|3E)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
