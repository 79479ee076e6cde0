// Runs in which one verdict decides about each session: rows of the table, scores by part, what the judge said.

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Dots } from "./charts";
import { filterBy } from "./filter";
import type { Measure, Metric, Part, Row } from "./format";
import { type Column, SortedHead } from "./head";
import { hashOf, NOWHERE, openQuestion } from "./nav";
import { Glyph, Panel } from "./parts";
import { asWord, key } from "./query";
import { otherOf, type Run, type Runs } from "./runs";
import { langOf, plain, Text, visible } from "./text";
import { NOTHING, OUTCOMES, count, decidedSign, plural, points, range, rate, short, signed, spaced, unasked } from "./words";

/** Only columns that say something of this run. */
function columns(run: Run, beside: boolean): Column[] {
  const { summary } = run.shown;
  const labels = Object.keys(summary.by_label ?? {});
  return [
    ["id", "id", "id-head"],
    ["question", "question", ""],
    ["loss", "verdict", `verdict-head ${beside ? "beside" : ""}`],
    ...(hasTypes(run) ? [["type", summary.type_name, "type-head"] satisfies Column] : []),
    ...(labels.length ? [["labels", labels.length > 1 ? "labels" : spaced(labels[0]!), "labels-head"] satisfies Column] : []),
    ...(isRepeated(run) ? [["passed", "passed", "r passed-head"] satisfies Column] : []),
    ["outcome", "outcome", "outcome-head"],
    ["tokens", "tokens", "r tokens-head"],
  ];
}

const hasTypes = (run: Run): boolean => Object.keys(run.shown.summary.by_task_type).length > 0;
const isRepeated = (run: Run): boolean => run.shown.summary.sessions > run.shown.summary.samples;
export function DecidedHead({ runs, run, sort }: { runs: Runs; run: Run; sort: string }): VNode {
  return <SortedHead sort={sort} columns={columns(run, otherOf(runs, run) !== undefined)} />;
}

export function DecidedLine({ runs, run, row }: { runs: Runs; run: Run; row: Row }): VNode {
  const other = otherOf(runs, run);
  return useMemo(() => {
    const there = other?.byKey.get(key(row));
    const attempts = run.attempts.get(row.id);
    const labels = Object.values(row.decided!.labels).join(" · ");
    const outcome = outcomeWords(row);
    const open = (event: MouseEvent) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openQuestion(row);
    };
    return (
      <tr id={`row-${row.name}`} data-name={row.name} onClick={(event) => !String(getSelection()) && open(event)}>
        <td class="id">
          <a href={hashOf({ ...NOWHERE, question: row.id, repeat: row.repeat })} onClick={(event) => { event.stopPropagation(); open(event); }}>
            <bdi>{visible(row.id)}</bdi>
            {row.repeat ? <span class="mute"> r{row.repeat}</span> : null}
          </a>
        </td>
        <td class="q" title={plain(row.question)}><bdi lang={langOf(row.question)}>{visible(row.question)}</bdi></td>
        <td class="answer">{other ? <><span class="small mute">{run.shown.letter}</span><Sign row={row} word={row.decided!.verdict !== null} /> <span class="small mute">{there ? other.shown.letter : ""}</span>{there ? <Sign row={there} word={there.decided!.verdict !== null} /> : <span class="mute small">not in {other.shown.letter}</span>}</> : <Sign row={row} />}</td>
        {hasTypes(run) ? <td class="type small" title={plain(row.taskType ?? "")}><Text>{row.taskType ?? ""}</Text></td> : null}
        {run.shown.summary.by_label ? <td class="labels small" title={plain(labels)}><Text>{labels}</Text></td> : null}
        {isRepeated(run) ? <td class="r num passed">{attempts ? `${attempts.passed} of ${attempts.n}` : ""}</td> : null}
        <td class="outcome small" title={outcome}><span class={row.outcome === "answered" ? "mute" : "none"}>{outcome}</span></td>
        <td class="r num tokens">{short(row.tokens)}</td>
      </tr>
    );
  }, [runs, run, row]);
}

const outcomeWords = (row: Row): string => {
  const { cause, leftOut } = row.decided!;
  return `${OUTCOMES[row.outcome]}${cause ? `: ${spaced(cause)}` : ""}${leftOut ? ", left out" : ""}`;
};

/** The sign with its label; `passes` or `does not pass` for those who do not see it. */
export function Sign({ row, word = true }: { row: Row; word?: boolean }): VNode {
  const sign = decidedSign(row);
  const { passed } = row.decided!;
  return <span title={passed === null ? "does not say" : passed ? "passes" : "does not pass"}><Glyph sign={sign} word={word} /></span>;
}

const MOST_COLUMNS = 3;

/** The figures that single parts have; those that the benchmark is known by first. */
function measuresOf(run: Run): Measure[] {
  const { summary } = run.shown;
  const parts = [...Object.values(summary.by_task_type), ...Object.values(summary.by_label ?? {}).flatMap((values) => Object.values(values))];
  const there = summary.measures.filter((measure) => parts.some((part) => (part.metrics[measure.name]?.n ?? 0) > 0));
  const known = there.filter((measure) => measure.headline);
  return [...known, ...there.filter((measure) => !measure.headline)].slice(0, Math.max(MOST_COLUMNS, known.length));
}

/** By task type, then by each label, the worst first; a row filters the questions. */
export function Parts({ run }: { run: Run }): VNode | null {
  const { summary } = run.shown;
  const measures = measuresOf(run);
  const first = measures[0];
  if (!first) return null;
  const groups: [name: string, field: (value: string) => string, parts: Record<string, Part>][] = [
    ...(hasTypes(run) ? [[summary.type_name, (value: string) => asWord("type", value), summary.by_task_type] satisfies [string, (value: string) => string, Record<string, Part>]] : []),
    ...Object.entries(summary.by_label ?? {}).map(([label, values]): [string, (value: string) => string, Record<string, Part>] => [spaced(label), (value) => asWord("label", `${label}=${value}`), values]),
  ];
  const title = groups.map(([name]) => name).join(", ");
  return (
    <Panel title={`By ${title}`} about={`${first.title}, 0–100${first.higher_is_better ? "" : ", lower is better"}; worst first`} cls="scrolls">
      <div class="scroll" tabIndex={0} role="region" aria-label={`scores by ${title}`}>
        <table class="by pick">
          <thead>
            <tr>
              <th scope="col">{groups[0]![0]}</th>
              <th scope="col" class="r">n</th>
              {measures.map((measure, i) => [<th key={measure.name} scope="col" class={`r ${i ? "wide-only" : ""}`}>{measure.short}</th>, i ? null : <th key="axis" scope="col" class="axis-head" aria-label="on a scale from 0 to 100"><span class="axis-labels"><span>0</span><span>50</span><span>100</span></span></th>])}
            </tr>
          </thead>
          {groups.map(([name, field, parts], i) => (
            <tbody key={name}>
              {i ? <tr class="group"><th scope="rowgroup" colSpan={3 + measures.length}>{name}</th></tr> : null}
              {worstFirst(parts, first).map(([value, part]) => (
                <PartRow key={value} value={value} part={part} measures={measures} onFilter={() => filterBy(field(value))} />
              ))}
            </tbody>
          ))}
        </table>
      </div>
      <p class="small mute note">n counts sessions; a row filters the questions</p>
    </Panel>
  );
}

function worstFirst(parts: Record<string, Part>, measure: Measure): [string, Part][] {
  const loss = (part: Part): number => {
    const value = part.metrics[measure.name]?.value ?? null;
    return value === null ? -1 : measure.higher_is_better ? 1 - value : value;
  };
  return Object.entries(parts).sort(([a, x], [b, y]) => loss(y) - loss(x) || (a < b ? -1 : 1));
}

function PartRow({ value, part, measures, onFilter }: { value: string; part: Part; measures: Measure[]; onFilter: () => void }): VNode {
  const told = (metric: Metric | undefined): string => (metric ? `n ${metric.n}, 95 % interval ${range(metric.interval)}` : "");
  return (
    <tr onClick={onFilter} data-part={value}>
      <th scope="row"><button type="button" class="plain link"><Text>{value}</Text></button></th>
      <td class="r num mute">{Object.values(part.outcomes).reduce((a, b) => a + b, 0)}</td>
      {measures.map((measure, i) => {
        const metric = part.metrics[measure.name];
        const points_ = metric?.value === null || metric?.value === undefined ? null : 100 * metric.value;
        const interval: [number, number] | null = metric?.interval ? [100 * metric.interval[0], 100 * metric.interval[1]] : null;
        return [
          <td key={measure.name} class={`r num ${i ? "mute wide-only" : "strong"}`} title={told(metric)}>{rate(metric?.value)}</td>,
          i ? null : <td key="axis" class="axis">{points_ === null ? null : <Dots label={`${value}: ${measure.title} ${points(points_)}, ${told(metric)}`} dots={[{ value: points_, interval, hollow: false, run: 0 }]} />}</td>,
        ];
      })}
    </tr>
  );
}

/** What counts, what does not, and what lies between two arms; in words. */
export function DecidedNote({ run }: { run: Run }): VNode {
  const { summary, decisions } = run.shown;
  const out = Object.entries(decisions!.left_out);
  const total = summary.sessions - out.reduce((sum, [, n]) => sum + n, 0);
  const { arms } = summary;
  return (
    <>
      {out.length ? `Scores count ${summary.sessions}${out.map(([reason, n]) => ` − ${n} (${spaced(reason)})`).join("")} = ${total} sessions.` : `Scores count all ${count(total)} sessions.`}
      {unasked(summary.left_out)}
      {arms && arms.difference !== null ? ` Multi-turn − single turn: ${signed(100 * arms.difference)} points${arms.difference_interval ? ` (95 % ${signed(100 * arms.difference_interval[0])} to ${signed(100 * arms.difference_interval[1])})` : ""}${arms.ratio === null ? "" : `; ratio ${arms.ratio.toFixed(2)}${arms.ratio_interval ? ` (${arms.ratio_interval[0].toFixed(2)} to ${arms.ratio_interval[1] === null ? "no bound" : arms.ratio_interval[1].toFixed(2)})` : ""}`}, drawing ${plural(arms.origins, "origin")}.` : ""}
    </>
  );
}

/** What the judge said, how often a question passed, how sure the judge is of itself. */
export function DecidedJudge({ run }: { run: Run }): VNode {
  const { judging, attempts } = run.shown.summary;
  const missing = Object.entries(judging.missing);
  const labels = Object.entries(run.shown.decisions!.labels);
  return (
    <Panel title="Judge" about={<><Text>{run.shown.summary.judge}</Text>{run.shown.summary.own_prompts ? ", prompts of your own" : ", prompts of pincite"}</>}>
      <dl class="facts wide">
        <dt>verdicts</dt>
        <dd>
          {count(judging.verdicts)}
          {labels.map(([label, n]) => <span key={label}> · <button type="button" class="plain link" onClick={() => filterBy(asWord("verdict", label))}>{count(n)} <Text>{label}</Text></button></span>)}
        </dd>
        <dt>missing</dt>
        <dd>{missing.length ? <><button type="button" class="plain link" onClick={() => filterBy("is:undecided")}>{missing.map(([cause, n]) => `${n} ${spaced(cause)}`).join(", ")}</button></> : "0"}</dd>
        <dt>asked again</dt>
        <dd>{judging.retried} <span class="small mute">for want of a verdict</span></dd>
        {judging.repeats ? <Sureness run={run} /> : null}
        {attempts ? (
          <>
            <dt>passed</dt>
            <dd>{Object.entries(attempts.by_passed).map(([n, questions]) => `${n} of ${attempts.sessions}: ${questions}`).join(" · ")} <span class="small mute">times: questions</span></dd>
          </>
        ) : null}
        <dt>flips</dt>
        <dd>
          {isRepeated(run) ? <button type="button" class="plain link" onClick={() => filterBy("flip")}>{attempts ? plural(attempts.flips, "question") : "questions"} that passed sometimes and not always</button> : <span class="mute">{NOTHING} one session a question</span>}
        </dd>
      </dl>
    </Panel>
  );
}

function Sureness({ run }: { run: Run }): VNode {
  const repeats = run.shown.summary.judging.repeats!;
  return (
    <>
      <dt>asked {repeats.asked} times</dt>
      <dd>
        {Object.entries(repeats.kinds).map(([kind, made]) => (
          <span key={kind}><button type="button" class="plain link" onClick={() => filterBy("is:judge_flip")}>{made.flipped} of {plural(made.judgements, "verdict")}</button> not the same each time ({rate(made.rate)} %){made.missing ? `, ${made.missing} without a label` : ""} </span>
        ))}
      </dd>
    </>
  );
}
