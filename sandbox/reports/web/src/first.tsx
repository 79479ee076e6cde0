// The first screen: one sentence, where the points went, what became of the questions, what broke, and every question.

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Dots, dotsLabel, Flow, LossBar } from "./charts";
import type { Change, CodeLoss, Compared, Metric } from "./format";
import { Below } from "./below";
import { DecidedNote, Parts } from "./decided";
import { filterBy } from "./filter";
import { Code, Panel } from "./parts";
import type { Place } from "./place";
import { hasWord } from "./query";
import { Questions } from "./questions";
import type { Run, Runs } from "./runs";
import { Text } from "./text";
import { mark, METRICS, NOTHING, plural, points, range, rate, signed, spaced, unasked } from "./words";

export function First({ runs, run, place }: { runs: Runs; run: Run; place: Place }): VNode {
  const { summary, headline } = run.shown;
  const top = useMemo(
    () => (
      <>
        <h1 class="head">{headline[0].map(([text, strong], i) => (strong ? <em key={i}>{text}</em> : <span key={i}>{text}</span>))}</h1>
        <p class="mute">
          {headline[1]}
          {run.shown.expected_sessions !== null && run.shown.expected_sessions > summary.sessions ? <b class="none"> This run is not finished: {summary.sessions} of {run.shown.expected_sessions} sessions.</b> : null}
          {runs.index.only ? ` This page holds only what fits “${runs.index.only}”; the figures are those of the whole run.` : ""}
        </p>
        {summary.sessions ? (
          <div class="grid g1">
            <Scores runs={runs} run={run} />
            <Panel title={`What became of ${plural(summary.sessions, run.cited || summary.sessions === summary.samples ? "question" : "session")}`} about="every denominator is one of these">
              <Flow summary={summary} decisions={run.shown.decisions} onFilter={filterBy} />
            </Panel>
          </div>
        ) : null}
      </>
    ),
    [runs, run],
  );
  const broke = useMemo(() => (run.cited ? <Broke runs={runs} run={run} q={place.q} /> : <Parts run={run} />), [runs, run, place.q]);
  const alone = run.cited ? !Object.keys(summary.format.codes).length : false;
  const below = useMemo(() => (summary.sessions ? <Below runs={runs} run={run} /> : null), [runs, run]);
  return (
    <main class="first" id="main">
      <div class="screen">
      {top}
      {summary.sessions ? (
        <div class={`grid g2 ${alone ? "nothing-broke" : run.cited ? "" : hasParts(run) ? "parts" : "no-parts"}`}>
          {broke}
          <Questions runs={runs} run={run} place={place} />
        </div>
      ) : null}
      </div>
      {below}
    </main>
  );
}

const hasParts = (run: Run): boolean => Object.keys(run.shown.summary.by_task_type).length > 0 || run.shown.summary.by_label !== undefined;

interface ScoreRow {
  key: string;
  name: string;
  about: string;
  depth: number;
  hollow: boolean;
  of: (run: Run) => { value: number | null; interval: [number, number] | null; n: number; excluded: Metric["excluded"] | null; bounds: [number, number] | null; undecided: number } | null;
}

function scoreRows(runs: Runs): ScoreRow[] {
  const cited: ScoreRow[] = METRICS.map(([key, name, about, depth]) => ({ key, name, about, depth, hollow: false, of: (run) => run.shown.summary.metrics[key] ?? null }));
  cited.splice(4, 0, {
    key: "recovered",
    name: "Recovered F1",
    about: "shown, never scored",
    depth: 0,
    hollow: true,
    of: (run) => {
      if (!run.cited) return null;
      const value = run.shown.summary.format.recovered_f1;
      return value === null ? null : { value, interval: run.shown.summary.format.recovered_f1_interval, n: run.shown.summary.metrics.citation_f1?.n ?? 0, excluded: run.shown.summary.metrics.citation_f1?.excluded ?? null, bounds: null, undecided: run.shown.summary.format.recovered_undecided };
    },
  });
  const named = new Map<string, ScoreRow>();
  for (const { shown } of runs.all.filter((run) => !run.cited)) {
    for (const { name, title, headline, higher_is_better } of shown.summary.measures) {
      named.set(name, { key: name, name: title, about: higher_is_better ? "" : "lower is better", depth: headline ? 0 : 1, hollow: false, of: (run) => (run.cited ? null : (run.shown.summary.metrics[name] ?? null)) });
    }
  }
  return [...cited, ...named.values()].filter((row) => runs.all.some((run) => row.of(run) !== null));
}

function Scores({ runs, run }: { runs: Runs; run: Run }): VNode {
  const many = runs.all.length > 1;
  const n = run.shown.summary.metrics.citation_f1?.n ?? 0;
  const title = run.cited ? "Where the 100 points of citation F1 go" : "Scores";
  const about = run.cited ? `mean over ${plural(n, "answer")}${many ? `, run ${run.shown.letter}` : ""}` : "0–100; figures that the benchmark is known by in bold";
  return (
    <Panel title={title} about={about}>
      {run.cited ? <LossBar summary={run.shown.summary} /> : null}
      <table class="sc">
        <thead>
          <tr>
            <th scope="col">Score</th>
            <th scope="col" class="r">value</th>
            <th scope="col" class="axis-head" aria-label="on a scale from 0 to 100">
              <span class="axis-labels"><span>0</span><span>50</span><span>100</span></span>
            </th>
            <th scope="col" class="interval-head">95 % interval</th>
            <th scope="col" class="r wide-only">n</th>
            {many ? null : <th scope="col" class="r wide-only">left out</th>}
            {many ? null : <th scope="col" class="r wider-only">bounds</th>}
            {showsChanges(runs) ? <th scope="col" class="r">Δ to A</th> : null}
          </tr>
        </thead>
        <tbody>
          {scoreRows(runs).flatMap((row) => (many ? runs.all : [run]).filter((each) => row.of(each)).map((each, i) => <Score key={`${row.key}${each.shown.letter}`} row={row} run={each} many={many} first={i === 0} changes={showsChanges(runs)} compared={runs.index.compared.find((each_) => each_.letter === each.shown.letter)} />))}
        </tbody>
      </table>
      <p class="small mute note">
        {run.cited ? `${denominator(run)}${unasked(run.shown.summary.left_out)} Consistency is agreement with the reference answer, not a truth check of every added claim.` : <DecidedNote run={run} />}
        {[run.shown.summary.model, run.shown.summary.judge].includes("baseline") ? " The embedded baseline took part: these scores compare with nothing published." : ""}
      </p>
      {runs.index.compared.map((compared) => <Compare key={compared.letter} compared={compared} />)}
    </Panel>
  );
}

function Score({ row, run, many, first, changes, compared }: { row: ScoreRow; run: Run; many: boolean; first: boolean; changes: boolean; compared: Compared | undefined }): VNode | null {
  const score = row.of(run);
  const letter = run.shown.letter;
  if (!score) return null;
  const interval: [number, number] | null = score.interval ? [100 * score.interval[0], 100 * score.interval[1]] : null;
  const left = score.excluded ? Object.entries(score.excluded) : [];
  const value = score.value === null ? null : 100 * score.value;
  const change = compared?.metrics[row.key];
  return (
    <tr class={`${row.depth ? "sub" : ""} ${row.hollow ? "hollow-row" : ""} ${many && !first ? "again" : ""}`} data-metric={row.key} data-run={letter}>
      <th scope="row">
        {many ? <span class={`run-mark run${run.place}`}>{mark(run.place)} {letter}</span> : null}
        {first || !many ? (
          <>
            <span class="name">{row.name}</span> <span class="small mute about">{row.about}</span>
          </>
        ) : (
          <span class="sr">{row.name}</span>
        )}
      </th>
      <td class="r num value">{points(value)}</td>
      <td class="axis">{value === null ? null : <Dots label={dotsLabel(row.name, run.shown, value, interval, many)} dots={[{ value, interval, hollow: row.hollow, run: run.place }]} />}</td>
      <td class="num small mute nowrap interval-cell">{range(score.interval)}</td>
      <td class="num small r mute wide-only">{score.n}</td>
      {many ? null : <td class="num small r mute wide-only" title={left.map(([reason, k]) => `${k} ${spaced(reason)}`).join(", ")}>{left.reduce((sum, [, k]) => sum + k, 0)}</td>}
      {many ? null : <td class="num small r mute nowrap wider-only" title={score.undecided ? `${score.undecided} lack a verdict` : "every verdict is there"}>
        {score.undecided ? range(score.bounds) : NOTHING}
      </td>}
      {changes ? <td class="r num small delta">{change && change.difference !== null ? <Delta change={change} /> : null}</td> : null}
    </tr>
  );
}

/** How the denominator of the citation scores comes about, in words. */
function denominator(run: Run): string {
  const { sessions, metrics } = run.shown.summary;
  const excluded = Object.entries(metrics.citation_f1?.excluded ?? {});
  if (!excluded.length) return `Citation scores count all ${sessions} answers.`;
  return `Citation scores count ${sessions}${excluded.map(([reason, n]) => ` − ${n} (${spaced(reason)})`).join("")} = ${metrics.citation_f1?.n ?? 0} answers.`;
}

const showsChanges = (runs: Runs): boolean => runs.index.compared.some((compared) => compared.refused === null);

const SURE = 0.05;

/** A difference with its interval; whether it is more than chance is said by the adjusted p, in words too. */
function Delta({ change }: { change: Change }): VNode {
  const p = change.p_holm ?? change.p;
  return (
    <span title={`${change.test ?? ""} over ${change.pairs} questions${change.p === null ? "" : `, p = ${change.p.toPrecision(2)}`}${change.p_holm === null ? "" : `, after Holm ${change.p_holm.toPrecision(2)}`}`}>
      <b>{signed(100 * (change.difference ?? 0))}</b>
      {change.interval ? <span class="mute nowrap"> {signed(100 * change.interval[0])} to {signed(100 * change.interval[1])}</span> : null}
      {p === null ? null : <span class={`nowrap ${p < SURE ? "full" : "mute"}`}> p {p < 0.001 ? "< 0.001" : p.toPrecision(2)}</span>}
    </span>
  );
}

function Compare({ compared }: { compared: Compared }): VNode {
  if (compared.refused !== null) {
    return (
      <div class="refusal small" role="note">
        <b>No differences between A and {compared.letter}:</b> <Text>{compared.refused}</Text>
      </div>
    );
  }
  return (
    <p class="small mute note">
      Δ = {compared.letter} − A over {plural(compared.questions, "question")} that both have{compared.only_a || compared.only_b ? `; ${compared.only_a} only in A, ${compared.only_b} only in ${compared.letter}` : ""}{compared.unfinished ? "; a run is not finished" : ""}. Interval 95 %, p after Holm.
    </p>
  );
}

function Broke({ runs, run, q }: { runs: Runs; run: Run; q: string }): VNode {
  const [open, setOpen] = useState<string | null>(null);
  const { format, flags, sessions } = run.shown.summary;
  const codes = Object.entries(format.codes).sort(([a, x], [b, y]) => (y.points ?? 0) - (x.points ?? 0) || rank(x) - rank(y) || y.answers - x.answers || (a < b ? -1 : 1));
  if (!codes.length) {
    return (
      <Panel title="What broke" about="rules of the citation format">
        <NothingBroke flags={flags} />
      </Panel>
    );
  }
  const most = Math.max(...codes.map(([, loss]) => loss.answers));
  const costliest = Math.max(0.0005, ...codes.map(([, loss]) => loss.points ?? 0));
  const unknown = format.recovered_f1 === null || codes.some(([, loss]) => loss.undecided);
  const hurt = run.rows.filter((row) => row.codes.some(([, lost]) => lost !== null && lost > 0)).length;
  return (
    <Panel title="What broke" about="points = F1 gained if only this were mended" cls="scrolls">
      <div class="scroll" tabIndex={0} role="region" aria-label="rules that broke">
        <table class="cd pick">
          <thead>
            <tr>
              <th scope="col">code</th>
              <th scope="col">rule</th>
              <th scope="col" class="r">answers</th>
              <th class="bar-col" aria-hidden="true" />
              <th scope="col" class="r">points</th>
              <th class="bar-col" aria-hidden="true" />
            </tr>
          </thead>
          <tbody>
            {codes.map(([code, loss]) => {
              const page = runs.names.get(code);
              const word = `code:${code}`;
              return [
                <tr key={code} class={hasWord(q, word) ? "sel" : ""} data-code={code} onClick={() => filterBy(word)}>
                  <td>
                    <button type="button" class="plain" aria-pressed={hasWord(q, word)} aria-label={`show answers with ${code}`}>
                      <Code code={code} severity={loss.severity} />
                    </button>
                  </td>
                  <td class="rule">
                    <span class="rule-line"><span>{page?.title ?? ""}</span>
                    {page?.text ? (
                      <button
                        type="button"
                        class="what"
                        aria-expanded={open === code}
                        aria-label={`what ${code} means`}
                        onClick={(event) => {
                          event.stopPropagation();
                          setOpen(open === code ? null : code);
                        }}
                      >
                        ?
                      </button>
                    ) : null}</span>
                  </td>
                  <td class="r num">{loss.answers}</td>
                  <td class="bar-col" aria-hidden="true"><Bar share={loss.answers / most} tone="evi" /></td>
                  <td class="r num strong">{loss.points !== null ? rate(loss.points) : loss.undecided ? "" : NOTHING}{loss.undecided ? <span class="mute" title={`of ${plural(loss.undecided, "answer")} it is not known: mended sentences were never judged (pincite score RUN --recovered)`}>{loss.points === null ? "?" : " + ?"}</span> : null}</td>
                  <td class="bar-col" aria-hidden="true"><Bar share={(loss.points ?? 0) / costliest} tone="fmt" /></td>
                </tr>,
                open === code && page ? (
                  <tr key={`${code}?`} class="explained">
                    <td colSpan={6}><CodeText text={page.text} /></td>
                  </tr>
                ) : null,
              ];
            })}
          </tbody>
          {format.format_loss === null ? null : (
            <tfoot>
              <tr>
                <td />
                <td><b>all mended together</b> <span class="small mute">rows overlap, do not add</span></td>
                <td class="r num strong">{hurt}</td>
                <td class="bar-col" />
                <td class="r num strong">{rate(format.format_loss)}</td>
                <td class="bar-col" />
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      <p class="small mute note">of {plural(sessions, "session")}; a row filters the questions{unknown ? `. ? = mended sentences were never judged (pincite score RUN --recovered); – = no matter of format` : ""}</p>
    </Panel>
  );
}

const rank = (loss: CodeLoss): number => ["error", "warning", "note"].indexOf(loss.severity);

function NothingBroke({ flags }: { flags: Record<string, number> }): VNode {
  const found = Object.entries(flags);
  return (
    <>
      <p class="nothing"><span class="full" aria-hidden="true">✓</span> No rule of the citation format was broken in any answer.</p>
      {found.length ? (
        <ul class="facts">
          {found.map(([flag, n]) => (
            <li key={flag}>
              <button type="button" class="chip" onClick={() => filterBy(`flag:${flag}`)}>{n} × {spaced(flag)}</button>
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

const Bar = ({ share, tone }: { share: number; tone: string }): VNode => (
  <svg class="mini" width="100%" height="11">{share > 0 ? <rect class={`solid ${tone}`} width={`${Math.max(2, 100 * share)}%`} height="11" rx="2" /> : null}</svg>
);

/** The page of a code as plain paragraphs; its markdown marks are few and taken as they are. */
export function CodeText({ text }: { text: string }): VNode {
  return (
    <div class="code-page">
      {text.split(/\n{2,}/).map((block, i) => {
        const heading = /^#+\s+(.*)$/.exec(block);
        if (heading) return <h3 key={i}>{heading[1]}</h3>;
        if (/^( {4}|```)/.test(block)) return <pre key={i}>{block.replace(/^```\w*\n?|\n?```$/g, "")}</pre>;
        return <p key={i}>{block.split(/(`[^`]+`)/).map((part, j) => (part.startsWith("`") && part.length > 2 ? <code key={j}>{part.slice(1, -1)}</code> : part.replaceAll("**", "")))}</p>;
      })}
    </div>
  );
}
