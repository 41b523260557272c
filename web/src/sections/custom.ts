// Custom metrics: figures that the test's script reported by name.

import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, plain, rate } from "../text/units";
import type { CustomRow, Page } from "../types";
import { muted, type Section, section } from "./section";

const MEANING =
  "Counts of a counter are sums, the other counts are numbers of values, events or errors. The script determines the unit of the values.";

export function custom(): Section {
  return section("custom", "Custom metrics", (page: Page) => {
    const rows = page.summary.custom ?? [];
    if (rows.length === 0) return {};
    const names = statistics(rows);
    const columns = [
      { name: "Metric" },
      { name: "Type" },
      ...["Count", "Per second", ...names].map((name) => ({ name, number: true })),
    ];
    const marks = rows.some((row) => row.judged?.length) ? [muted("* judged by a criterion")] : [];
    return {
      above: [
        table(
          "Custom metrics",
          columns,
          rows.map((row) => cells(row, names)),
        ),
        ...marks,
        muted(MEANING),
      ],
    };
  });
}

function cells(row: CustomRow, names: string[]): Child[] {
  const value = (name: string) => {
    const own = row.values?.[name];
    return own === undefined ? NONE : marked(row, `values/${name}`, plain(own));
  };
  return [
    row.name,
    row.kind,
    marked(row, "count", count(row.count)),
    marked(row, "per_second", rate(row.per_second)),
    ...names.map(value),
  ];
}

function marked(row: CustomRow, path: string, text: string): Child {
  if (!row.judged?.includes(path)) return text;
  return h("span", {}, text, h("span", { class: "judged", title: "judged by a criterion" }, " *"));
}

/** Statistics that any row has, percentiles in ascending order. */
function statistics(rows: CustomRow[]): string[] {
  const ends: Record<string, number> = { min: -2, mean: -1, max: 1000 };
  const place = (name: string) => ends[name] ?? Number(name.slice(1));
  const names = new Set(rows.flatMap((row) => Object.keys(row.values ?? {})));
  return [...names].sort((a, b) => place(a) - place(b));
}
