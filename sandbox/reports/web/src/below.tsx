// Below the first screen: by type, rounds and tokens, tools and hosts, the judge, where the run came from.

import type { VNode } from "preact";
import { type Bin, Histogram, type Part } from "./charts";
import type { Row } from "./format";
import { DecidedJudge } from "./decided";
import { filterBy } from "./filter";
import { Panel } from "./parts";
import { asWord } from "./query";
import type { Run, Runs } from "./runs";
import { Text } from "./text";
import { count, duration, NOTHING, plural, rate, short, spaced } from "./words";

export function Below({ runs, run }: { runs: Runs; run: Run }): VNode {
  return (
    <div class="grid g3">
      {run.cited ? <Types run={run} /> : null}
      {run.cited ? null : <DecidedJudge run={run} />}
      <Work run={run} />
      {run.cited || Object.keys(run.shown.summary.tools).length ? <Tools run={run} /> : null}
      {run.cited ? <Judge run={run} /> : null}
      <Provenance runs={runs} run={run} />
    </div>
  );
}

const TYPE_COLUMNS: [string, string][] = [
  ["consistency", "consistency"],
  ["citation_f1", "F1"],
  ["citation_recall", "recall"],
  ["citation_precision", "precision"],
];

function Types({ run }: { run: Run }): VNode | null {
  const types = Object.entries(run.shown.summary.by_task_type);
  if (!types.length) return null;
  return (
    <Panel title="By type" about="points">
      <table class="pick">
        <thead>
          <tr>
            <th scope="col">type</th>
            <th scope="col" class="r">n</th>
            {TYPE_COLUMNS.map(([key, name]) => <th key={key} scope="col" class="r">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {types.map(([name, made]) => (
            <tr key={name} onClick={() => filterBy(asWord("type", name))}>
              <td><button type="button" class="plain link"><Text>{name}</Text></button></td>
              <td class="r num">{Object.values(made.outcomes).reduce((a, b) => a + b, 0)}</td>
              {TYPE_COLUMNS.map(([key]) => <td key={key} class="r num heat">{rate(made.metrics[key]?.value)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

const TONES: [outcome: string, tone: string, word: string][] = [
  ["answered", "full-fill", "answered"],
  ["judge_error", "part-fill", "judge error"],
  ["generation_failed", "none-fill", "failed"],
  ["context_overflow", "unk-fill", "overflow"],
];

function binned(rows: Row[], value: (row: Row) => number, label: (n: number) => string): Bin[] {
  const most = Math.max(0, ...rows.map(value));
  const raw = most / 14;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  const size = Math.max(1, [1, 2, 5, 10].map((k) => k * power).find((step) => step >= raw) ?? 1);
  const bins: Bin[] = [];
  for (let low = 0; low <= most; low += size) {
    const inside = rows.filter((row) => value(row) >= low && value(row) < low + size);
    const parts: Part[] = TONES.map(([outcome, tone, word]) => ({ tone, word, n: inside.filter((row) => row.outcome === outcome).length })).filter((part) => part.n);
    bins.push({ label: size === 1 ? label(low) : `${label(low)}–`, parts });
  }
  return bins;
}

function Work({ run }: { run: Run }): VNode {
  const { summary } = run.shown;
  const seen = TONES.filter(([outcome]) => run.rows.some((row) => row.outcome === outcome));
  const { model, judge } = summary.usage;
  return (
    <Panel title="Rounds and tokens" about={seen.map(([outcome, tone, word]) => <span key={outcome} class="legend"><i class={`swatch ${tone}`} />{word} </span>)}>
      <h3>rounds per session, mean {(summary.rounds / Math.max(1, summary.sessions)).toFixed(1)}</h3>
      <Histogram bins={binned(run.rows, (row) => row.rounds, String)} label="Sessions by rounds" unit="rounds" />
      <h3>tokens per session</h3>
      <Histogram bins={binned(run.rows, (row) => row.tokens, short)} label="Sessions by tokens" unit="tokens" />
      <dl class="facts">
        <dt>model</dt>
        <dd>{count(model.calls)} calls, {short(model.prompt_tokens)} tokens in, {short(model.completion_tokens)} out</dd>
        <dt>judge</dt>
        <dd>{count(judge.calls)} calls, {short(judge.prompt_tokens)} tokens in, {short(judge.completion_tokens)} out</dd>
        {run.cited ? null : <><dt>reasoning</dt><dd>came with {count(summary.thinking)} of {plural(summary.sessions, "final message")}</dd></>}
        <dt>time</dt>
        <dd>{duration(summary.seconds.total)} in all sessions, longest {duration(summary.seconds.longest)}</dd>
      </dl>
    </Panel>
  );
}

function Tools({ run }: { run: Run }): VNode {
  const tools = Object.entries(run.shown.summary.tools);
  const { hosts } = run.shown;
  return (
    <Panel title="Tools" about="a failed call gives no number and no evidence">
      <table>
        <thead><tr><th scope="col">tool</th><th scope="col" class="r">calls</th><th scope="col">failed</th></tr></thead>
        <tbody>
          {tools.map(([name, made]) => (
            <tr key={name}><td><Text>{name}</Text></td><td class="r num">{count(made.calls)}</td><td>{failures(made.failed)}</td></tr>
          ))}
        </tbody>
      </table>
      {hosts.length ? (
        <>
          <h3>hosts that failed, most failures first</h3>
          <table>
            <thead><tr><th scope="col">host</th><th scope="col" class="r">calls</th><th scope="col">failed</th></tr></thead>
            <tbody>
              {hosts.slice(0, 12).map(([host, calls, failed]) => (
                <tr key={host}><td class="host"><Text>{host}</Text></td><td class="r num">{count(calls)}</td><td>{failures(failed)}</td></tr>
              ))}
            </tbody>
          </table>
          {hosts.length > 12 ? <p class="small mute">{hosts.length - 12} more hosts are in the JSON of the index.</p> : null}
        </>
      ) : <p class="small mute note">No fetch or find call failed.</p>}
    </Panel>
  );
}

const failures = (failed: Record<string, number>): string =>
  Object.entries(failed).sort(([, a], [, b]) => b - a).map(([kind, n]) => `${n} ${spaced(kind)}`).join(", ") || "0";

function Judge({ run }: { run: Run }): VNode {
  const { judging } = run.shown.summary;
  const missing = Object.entries(judging.missing);
  return (
    <Panel title="Judge" about={<Text>{run.shown.summary.judge}</Text>}>
      <dl class="facts wide">
        <dt>contradictions</dt>
        <dd>
          <button type="button" class="plain link" onClick={() => filterBy("contradiction")}>{judging.contradictions} of {count(judging.checked_pairs)}</button>
          <span class="small mute"> pages that support a sentence alone, called irrelevant to it</span>
        </dd>
        <dt>verdicts</dt>
        <dd>{count(judging.verdicts)}</dd>
        <dt>missing</dt>
        <dd>{missing.length ? missing.map(([cause, n]) => `${n} ${spaced(cause)}`).join(", ") : "0"}</dd>
        <dt>asked again</dt>
        <dd>{judging.retried}</dd>
        <dt>flips</dt>
        <dd>
          {run.rows.some((row) => row.repeat) ? <button type="button" class="plain link" onClick={() => filterBy("flip")}>questions whose repeats were judged differently</button> : <span class="mute">{NOTHING} one session a question</span>}
        </dd>
      </dl>
    </Panel>
  );
}

function Provenance({ runs, run }: { runs: Runs; run: Run }): VNode {
  const { summary, compared, starts } = run.shown;
  const { tape } = summary;
  return (
    <Panel title="Provenance and tape" about="two runs compare only where all of this is equal" cls="provenance">
      <dl class="facts wide">
        <dt>digest</dt>
        <dd><code class="break">{summary.digest}</code> <span class="small mute">a sealed replay gives the same</span></dd>
        <dt>tape</dt>
        <dd>{plural(tape.interactions, "interaction")}, {tape.misses} missed, {tape.lenient} lenient</dd>
        <dt>intervals</dt>
        <dd>{100 * summary.statistics.level} %, {count(summary.statistics.resamples)} resamples of whole questions, seed {summary.statistics.seed}</dd>
        <dt>run</dt>
        <dd><Text cls="break">{summary.run}</Text></dd>
        <dt>page</dt>
        <dd>pincite {runs.index.pincite}{run.cited ? `, texts of ${runs.index.pages === "cited" ? "cited pages; 600 characters of others" : "all pages"}` : ""}</dd>
      </dl>
      <details>
        <summary>what is compared</summary>
        <Tree value={compared} />
      </details>
      <details>
        <summary>{plural(starts.length, "start")} of the command</summary>
        {starts.map((start, i) => <Tree key={i} value={start} />)}
      </details>
    </Panel>
  );
}

function Tree({ value }: { value: unknown }): VNode {
  if (Array.isArray(value)) return <Text cls="break">{value.map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item))).join(" ")}</Text>;
  if (value !== null && typeof value === "object") {
    return (
      <dl class="facts tree">
        {Object.entries(value).map(([name, inner]) => [<dt key={name}>{spaced(name)}</dt>, <dd key={`${name}=`}><Tree value={inner} /></dd>])}
      </dl>
    );
  }
  return <Text cls="break">{value === null ? NOTHING : String(value)}</Text>;
}
