// The first screen: one sentence, where the points went, what became of the questions, what broke, and every question.

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Dots, dotsLabel, Flow, LossBar } from "./charts";
import type { Comparison, Metric } from "./format";
import { Below } from "./below";
import { go, place as currentPlace } from "./nav";
import { Code, Panel } from "./parts";
import type { Place } from "./place";
import { hasWord, toggled } from "./query";
import { Questions } from "./questions";
import type { Run, Runs } from "./runs";
import { Text } from "./text";
import { mark, METRICS, NOTHING, plural, points, range, rate, signed, spaced } from "./words";

export const filterBy = (word: string): void => {
  const { q } = currentPlace();
  go({ q: toggled(q, word) });
};

export function First({ runs, run, place }: { runs: Runs; run: Run; place: Place }): VNode {
  const { summary, headline } = run.shown;
  const top = useMemo(
    () => (
      <>
        <h1 class="head">{headline[0].map(([text, strong], i) => (strong ? <em key={i}>{text}</em> : <span key={i}>{text}</span>))}</h1>
        <p class="mute">
          {headline[1]}
          {runs.index.only ? ` This page holds only what fits “${runs.index.only}”; the figures are those of the whole run.` : ""}
        </p>
        {summary.sessions ? (
          <div class="grid g1">
            <Scores runs={runs} run={run} />
            <Panel title={`What became of ${plural(summary.sessions, "question")}`} about="every denominator is one of these">
              <Flow summary={summary} onFilter={filterBy} />
            </Panel>
          </div>
        ) : null}
      </>
    ),
    [runs, run],
  );
  const broke = useMemo(() => <Broke runs={runs} run={run} q={place.q} />, [runs, run, place.q]);
  const below = useMemo(() => (summary.sessions ? <Below runs={runs} run={run} /> : null), [runs, run]);
  return (
    <main class="first" id="main">
      {top}
      {summary.sessions ? (
        <div class="grid g2">
          {broke}
          <Questions runs={runs} run={run} place={place} />
        </div>
      ) : null}
      {below}
    </main>
  );
}

interface ScoreRow {
  key: string;
  name: string;
  about: string;
  depth: number;
  hollow: boolean;
  of: (run: Run) => { value: number | null; interval: [number, number] | null; n: number; excluded: Metric["excluded"] | null; bounds: [number, number] | null; undecided: number } | null;
}

function scoreRows(runs: Runs): ScoreRow[] {
  const rows: ScoreRow[] = METRICS.map(([key, name, about, depth]) => ({ key, name, about, depth, hollow: false, of: (run) => run.shown.summary.metrics[key] ?? null }));
  rows.splice(4, 0, {
    key: "recovered",
    name: "Recovered F1",
    about: "shown, never scored",
    depth: 0,
    hollow: true,
    of: (run) => {
      const value = run.shown.summary.format.recovered_f1;
      return value === null ? null : { value, interval: run.shown.recovered_interval, n: run.shown.summary.metrics.citation_f1?.n ?? 0, excluded: null, bounds: null, undecided: 0 };
    },
  });
  return rows.filter((row) => runs.all.some((run) => row.of(run) !== null));
}

function Scores({ runs, run }: { runs: Runs; run: Run }): VNode {
  const many = runs.all.length > 1;
  const comparison = runs.index.comparison;
  const n = run.shown.summary.metrics.citation_f1?.n ?? 0;
  return (
    <Panel title="Where the 100 points of citation F1 go" about={`mean over ${plural(n, "answer")}${many ? `, run ${run.shown.letter}` : ""}`}>
      <LossBar summary={run.shown.summary} />
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
            <th scope="col" class="wide-only">left out</th>
            <th scope="col" class="r wider-only">bounds</th>
            {many && comparison && !comparison.refused.length ? <th scope="col" class="r">Δ A→B</th> : null}
          </tr>
        </thead>
        <tbody>
          {scoreRows(runs).flatMap((row) => (many ? runs.all : [run]).map((each, i) => <Score key={`${row.key}${each.shown.letter}`} row={row} run={each} many={many} first={i === 0} comparison={comparison} />))}
        </tbody>
      </table>
      <p class="small mute note">
        Points, 0 to 100. Consistency is agreement with the reference answer, not a truth check of every added claim.
        {[run.shown.summary.model, run.shown.summary.judge].includes("baseline") ? " The embedded baseline took part: these scores compare with nothing published." : ""}
      </p>
      {many ? <Refusal comparison={comparison} /> : null}
    </Panel>
  );
}

function Score({ row, run, many, first, comparison }: { row: ScoreRow; run: Run; many: boolean; first: boolean; comparison: Comparison | null }): VNode | null {
  const score = row.of(run);
  const letter = run.shown.letter;
  if (!score) return null;
  const interval: [number, number] | null = score.interval ? [100 * score.interval[0], 100 * score.interval[1]] : null;
  const left = score.excluded ? Object.entries(score.excluded) : [];
  const value = score.value === null ? null : 100 * score.value;
  const change = comparison?.metrics[row.key];
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
      <td class="small mute wide-only left-out">{left.length ? left.map(([reason, k]) => `${k} ${spaced(reason)}`).join(", ") : "0"}</td>
      <td class="num small r mute nowrap wider-only" title={score.undecided ? `${score.undecided} lack a verdict` : "every verdict is there"}>
        {score.undecided ? range(score.bounds) : NOTHING}
      </td>
      {many && comparison && !comparison.refused.length ? (
        <td class="r num small nowrap">
          {change && first ? (
            <span title={`${change.test}${change.p === null ? "" : `, p = ${change.p.toPrecision(2)}`}${change.holm === null ? "" : `, after Holm ${change.holm.toPrecision(2)}`}`}>
              <b>{signed(100 * change.difference)}</b> {change.interval ? `(${signed(100 * change.interval[0])} to ${signed(100 * change.interval[1])})` : ""}
            </span>
          ) : null}
        </td>
      ) : null}
    </tr>
  );
}

function Refusal({ comparison }: { comparison: Comparison | null }): VNode | null {
  if (!comparison?.refused.length) return null;
  return (
    <div class="refusal small" role="note">
      <b>No differences are worked out: these runs cannot be compared.</b>
      <ul>
        {comparison.refused.map((reason) => (
          <li key={reason}><Text>{reason}</Text></li>
        ))}
      </ul>
    </div>
  );
}

function Broke({ runs, run, q }: { runs: Runs; run: Run; q: string }): VNode {
  const [open, setOpen] = useState<string | null>(null);
  const { format, flags, sessions } = run.shown.summary;
  const codes = Object.entries(format.codes).sort(([a, x], [b, y]) => y.points - x.points || y.answers - x.answers || (a < b ? -1 : 1));
  if (!codes.length) {
    return (
      <Panel title="What broke" about="rules of the citation format">
        <NothingBroke flags={flags} />
      </Panel>
    );
  }
  const most = Math.max(...codes.map(([, loss]) => loss.answers));
  const costliest = Math.max(0.0005, ...codes.map(([, loss]) => loss.points));
  const hurt = run.rows.filter((row) => row.codes.some(([, lost]) => lost !== null && lost > 0)).length;
  return (
    <Panel title="What broke" about="points = F1 gained if only this were mended" cls="scrolls">
      <div class="scroll" tabIndex={0} role="region" aria-label="What broke">
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
                      <Code code={code} severity={page?.severity ?? "error"} />
                    </button>
                  </td>
                  <td class="rule">
                    {page?.title ?? ""}{" "}
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
                    ) : null}
                  </td>
                  <td class="r num">{loss.answers}</td>
                  <td class="bar-col" aria-hidden="true"><Bar share={loss.answers / most} tone="evi" /></td>
                  <td class="r num strong">{loss.points > 0 ? rate(loss.points) : loss.points === 0 ? "0.0" : NOTHING}</td>
                  <td class="bar-col" aria-hidden="true"><Bar share={loss.points / costliest} tone="fmt" /></td>
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
      <p class="small mute note">of {plural(sessions, "session")}; a row filters the questions</p>
    </Panel>
  );
}

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
