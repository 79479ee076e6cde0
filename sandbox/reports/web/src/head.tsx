// The head of the table of questions: a click on a column sorts by it, a second one the other way round.

import type { ComponentChildren, VNode } from "preact";
import { go } from "./nav";

export type Column = [key: string, name: ComponentChildren, cls: string];

/** Columns that are words, or of which the small values are looked for; the others begin with the largest. */
const UP_FIRST = new Set(["id", "question", "type", "labels", "outcome", "passed"]);

export function SortedHead({ columns, sort }: { columns: Column[]; sort: string }): VNode {
  return (
    <thead>
      <tr>
        {columns.map(([name, label, cls]) => {
          const down = sort === `-${name}`;
          const up = sort === name;
          return (
            <th key={name} scope="col" class={cls} aria-sort={down ? "descending" : up ? "ascending" : "none"}>
              <button type="button" class="plain" onClick={() => go({ sort: down ? name : up ? `-${name}` : UP_FIRST.has(name) ? name : `-${name}` }, "replace")}>
                {label}
                <span aria-hidden="true" class="arrow">{down ? " ▾" : up ? " ▴" : ""}</span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
