// Custom metrics: figures that the test's script reported by name, and their charts over time.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { customMetric, drawable, keyOf } from "../data/custom";
import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, plain, rate, share } from "../text/units";
import type { CustomRow, CustomSeries, Page } from "../types";
import { muted, type Section, section } from "./section";

const MEANING =
  "Counts of a counter are sums, the other counts are numbers of values, events, errors or evaluations. The rate of a sum is its sum per second. The script determines the unit of the values.";

/** Charts that are always shown. */
const FIRST = 12;

export function custom(env: Env): Section {
  const charts = new CustomCharts(env);
  return section("custom", "Custom metrics", (page: Page) => ({ above: tables(page) }), [charts]);
}

function tables(page: Page): Child[] {
  const rows = page.summary.custom ?? [];
  if (rows.length === 0) return [];
  const names = statistics(rows);
  const columns = [
    { name: "Metric" },
    { name: "Type" },
    ...["Count", "Per second", ...names].map((name) => ({ name, number: true })),
  ];
  const marks = rows.some((row) => row.judged?.length) ? [muted("* judged by a criterion")] : [];
  return [
    table(
      "Custom metrics",
      columns,
      rows.map((row) => cells(row, names)),
    ),
    ...marks,
    muted(MEANING),
  ];
}

/** A chart for each metric: a dozen, and the others on request. */
class CustomCharts {
  readonly el: HTMLElement;
  #place = h("div", { class: "panels" });
  #more = h("button", { type: "button", hidden: true, onclick: () => this.#showAll() });
  #omitted = muted("");
  #charts = new Map<string, TimeChart>();
  #all = false;
  #page: Page | null = null;

  constructor(private readonly env: Env) {
    this.el = h("div", {}, this.#place, this.#more, this.#omitted);
  }

  update(page: Page): boolean {
    this.#page = page;
    const series = drawable(page);
    const shown = this.#all ? series : series.slice(0, FIRST);
    for (const one of shown) this.#add(one);
    const more = series.length - shown.length;
    this.#more.hidden = more === 0;
    this.#more.textContent = `Show ${count(more)} more chart${more === 1 ? "" : "s"}`;
    const without = (page.summary.custom ?? []).length - series.length;
    this.#omitted.hidden = without <= 0 || series.length === 0;
    this.#omitted.textContent = without === 1 ? "One metric has no chart." : `${count(without)} metrics have no chart.`;
    return [...this.#charts.values()].map((chart) => chart.update(page)).includes(true);
  }

  #add(series: CustomSeries): void {
    const key = keyOf(series);
    if (this.#charts.has(key)) return;
    const title = `${series.name} (${series.kind})`;
    const draw = (page: Page) => customMetric(page, key);
    const chart = new TimeChart(this.env, { id: `custom-${this.#charts.size}`, title, draw, height: 180 });
    this.#charts.set(key, chart);
    this.#place.append(chart.el);
  }

  #showAll(): void {
    this.#all = true;
    if (this.#page) this.update(this.#page);
  }
}

function cells(row: CustomRow, names: string[]): Child[] {
  const value = (name: string) => {
    const own = row.values?.[name];
    return own === undefined ? NONE : marked(row, `values/${name}`, name === "share" ? share(own) : plain(own));
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
  const ends: Record<string, number> = { share: -3, sum: -3, min: -2, mean: -1, max: 1000 };
  const place = (name: string) => ends[name] ?? Number(name.slice(1));
  const names = new Set(rows.flatMap((row) => Object.keys(row.values ?? {})));
  return [...names].sort((a, b) => place(a) - place(b));
}
