// The data of the page, version 1, as sandbox/reports/page_format.py writes it. What is at its default is left out.
// Offsets are UTF-16 units; names ending in _char count characters and are only shown. Figures of rows are points.

export const VERSION = 1;

export type Outcome = "answered" | "generation_failed" | "context_overflow" | "judge_error";
export type TextRef = [text: number, start: number, end: number];

export interface Metric {
  value: number | null;
  n: number;
  excluded: Record<string, number>;
  interval: [number, number] | null;
  bounds: [number, number] | null;
  undecided: number;
}

/** What people read of a figure; `headline`: one that the benchmark is known by. */
export interface Measure {
  name: string;
  title: string;
  short: string;
  rate: boolean;
  headline: boolean;
  always: boolean;
  higher_is_better: boolean;
}

/** The figures of one task type, or of one value of a label. */
export interface Part {
  samples: number;
  outcomes: Record<string, number>;
  metrics: Record<string, Metric>;
}

export interface CodeLoss {
  severity: string;
  answers: number;
  occurrences: number;
  /** In 0–1; null where it is known of no answer, or the code costs no format. */
  points: number | null;
  undecided: number;
}

export interface Summary {
  benchmark: string;
  run: string;
  model: string;
  judge: string;
  samples: number;
  sessions: number;
  outcomes: Record<Outcome, number>;
  outcome_reasons: Record<string, Record<string, number>>;
  flags: Record<string, number>;
  metrics: Record<string, Metric>;
  measures: Measure[];
  type_name: string;
  by_task_type: Record<string, Part>;
  by_label?: Record<string, Record<string, Part>>;
  attempts?: { measure: string; sessions: number; by_passed: Record<string, number>; flips: number };
  arms?: { difference: number | null; difference_interval: [number, number] | null; ratio: number | null; ratio_interval: [number, number | null] | null; origins: number };
  thinking: number;
  /** The judge was asked in the user's own words. */
  own_prompts?: boolean;
  left_out?: Record<string, number>;
  format: {
    unparsable: number;
    no_sentence: number;
    no_citation: number;
    no_citation_needed: number;
    strict_f1: number | null;
    recovered_f1: number | null;
    format_loss: number | null;
    evidence_loss: number | null;
    recovered_undecided: number;
    recovered_f1_interval: [number, number] | null;
    codes: Record<string, CodeLoss>;
  };
  judging: { verdicts: number; missing: Record<string, number>; retried: number; checked_pairs: number; contradictions: number; repeats: { asked: number; kinds: Record<string, { judgements: number; flipped: number; rate: number | null; missing: number }>; passed?: (number | null)[] } | null };
  tools: Record<string, { calls: number; failed: Record<string, number> }>;
  rounds: number;
  usage: { model: Usage; judge: Usage };
  seconds: { total: number; longest: number };
  tape: { interactions: number; misses: number; lenient: number };
  statistics: { level: number; resamples: number; seed: number };
  digest: string;
}

export interface Usage {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  reasoning_tokens: number;
  cached_tokens: number;
}

export type RowArray = [
  id: string,
  repeat: number,
  question: string,
  task_type: string | null,
  outcome: Outcome,
  flags: string[],
  answer: string | null,
  f1: number | null,
  recall: number | null,
  precision: number | null,
  recovered: number | null,
  codes: [code: string, points: number | null][],
  rounds: number,
  tokens: number,
  seconds: number,
  contradiction: number,
  urls: number[],
  decided: [verdict: string | null, passed: boolean | null, cause: string, left_out: string, flipped: boolean, labels: Record<string, string>] | null,
  name: string,
];

/** Sessions of the whole run by what one verdict made of them, and by its label. */
export interface Decisions {
  passed: number;
  failed: number;
  undecided: number;
  left_out: Record<string, number>;
  labels: Record<string, number>;
}

export interface CodePage {
  code: string;
  severity: string;
  title: string;
  text: string;
}

export interface RunShown {
  letter: string;
  name: string;
  summary: Summary;
  headline: [first: [text: string, strong: boolean][], second: string];
  expected_sessions: number | null;
  compared: Record<string, unknown>;
  starts: unknown[];
  hosts: [host: string, calls: number, failed: Record<string, number>][];
  /** null where citations are scored. */
  decisions: Decisions | null;
  urls: string[];
  rows: RowArray[];
}

export interface Index {
  version: number;
  pincite: string;
  runs: RunShown[];
  codes: CodePage[];
  folder: string | null;
  pages: "all" | "cited";
  only: string | null;
  compared: Compared[];
}

export interface Change {
  difference: number | null;
  interval: [number, number] | null;
  p: number | null;
  p_holm: number | null;
  test: string | null;
  pairs: number;
}

/** A run held against run A; refused in words, or with a difference (B − A) for each metric. */
export interface Compared {
  letter: string;
  refused: string | null;
  questions: number;
  only_a: number;
  only_b: number;
  unfinished: boolean;
  metrics: Record<string, Change>;
}

export interface Call {
  tool: string;
  arguments: string;
  text: TextRef;
  pages?: number[];
  failure?: string;
  neutralised?: number;
  left_out_chars?: number;
}

export interface Round {
  reasoning?: TextRef;
  content?: TextRef;
  finish?: string;
  forced?: boolean;
  calls?: Call[];
  user?: TextRef;
}

export interface Piece {
  kind: string;
  text: TextRef;
  start_char?: number;
  end_char?: number;
  sha256?: string;
  left_out_chars?: number;
}

export interface Page {
  number: number;
  url: string;
  title: string;
  aliases?: string[];
  total_chars?: number;
  pieces?: Piece[];
  n_failed?: number;
}

export interface Verdict {
  label?: string;
  reason?: string;
  raw?: string;
  attempts?: number;
  failure?: string;
  prompt?: string;
  repeats?: { label?: string; reason?: string; failure?: string }[];
}

/** The one verdict of a session; none = there was no answer to judge. */
export interface Criterion {
  rubric: string;
  text: string;
  passing: string[];
  verdict?: Verdict;
}

export interface Unit {
  kind: "support" | "relevance" | "need";
  sentences: number[];
  number?: number;
  verdict: Verdict;
}

export interface Citation {
  number: number | null;
  body: string;
  start: number;
  end: number;
  score?: string;
}

export interface Sentence {
  text: string;
  start: number;
  end: number;
  citations?: Citation[];
  score?: string;
}

export interface Finding {
  code: string;
  severity: string;
  start: number;
  end: number;
  start_char: number;
  end_char: number;
  line: number;
  column: number;
  message: string;
  fix?: string;
  points?: number;
}

export interface Session {
  version: number;
  id: string;
  repeat?: number;
  task_type?: string;
  question: string;
  reference?: string;
  sources?: string[];
  outcome: Outcome;
  reason?: string;
  flags?: string[];
  dialect: string;
  finish?: string;
  texts: string[];
  rounds?: Round[];
  pages?: Page[];
  answer?: TextRef;
  sentences?: Sentence[];
  recovered?: { sentences: Sentence[]; recall?: number; precision?: number; f1?: number };
  findings?: Finding[];
  not_checked?: string[];
  consistency?: Verdict;
  criterion?: Criterion;
  labels?: Record<string, string>;
  history?: { role: string; text: TextRef }[];
  units?: Unit[];
  score?: { recall?: string; precision?: string; f1?: string; f1_bounds?: [string, string] };
  citation_counting: string;
  prompt_tokens?: number;
  completion_tokens?: number;
  seconds?: number;
}

/** What one verdict made of a session; `passed` null = no verdict, or left out of every figure. */
export interface Decided {
  verdict: string | null;
  passed: boolean | null;
  cause: string;
  leftOut: string;
  flipped: boolean;
  labels: Record<string, string>;
}

/** A row with names instead of positions. */
export interface Row {
  id: string;
  repeat: number;
  question: string;
  taskType: string | null;
  outcome: Outcome;
  flags: string[];
  answer: string | null;
  f1: number | null;
  recall: number | null;
  precision: number | null;
  recovered: number | null;
  codes: [string, number | null][];
  rounds: number;
  tokens: number;
  seconds: number;
  contradiction: number;
  urls: number[];
  /** null where citations are scored. */
  decided: Decided | null;
  name: string;
}

export function rowOf(a: RowArray): Row {
  return {
    id: a[0],
    repeat: a[1],
    question: a[2],
    taskType: a[3],
    outcome: a[4],
    flags: a[5],
    answer: a[6],
    f1: a[7],
    recall: a[8],
    precision: a[9],
    recovered: a[10],
    codes: a[11],
    rounds: a[12],
    tokens: a[13],
    seconds: a[14],
    contradiction: a[15],
    urls: a[16],
    decided: a[17] && { verdict: a[17][0], passed: a[17][1], cause: a[17][2], leftOut: a[17][3], flipped: a[17][4], labels: a[17][5] },
    name: a[18],
  };
}

export const unparsable = (row: Row): boolean => row.flags.includes("no_sentence") || row.flags.includes("no_citation");
