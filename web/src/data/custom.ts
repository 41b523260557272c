// Custom metrics over time: rates per second, and percentiles of histograms.

import type { Drawing, Line } from "../charts/drawing";
import type { CustomSeries, Page } from "../types";
import { any, perSecond, some } from "./columns";

/** Identifies a metric, because one name may be used for several types. */
export function keyOf(series: { kind: string; name: string }): string {
  return `${series.kind} ${series.name}`;
}

/** Returns the metrics that have something to draw. */
export function drawable(page: Page): CustomSeries[] {
  return (page.series.custom ?? []).filter((series) =>
    series.kind === "histogram" ? some(series.p50 ?? []) : any(series.count),
  );
}

/** One metric: a counter, rate or error per second, or p50 and p95 of a histogram. */
export function customMetric(page: Page, key: string): Drawing | null {
  const series = drawable(page).find((one) => keyOf(one) === key);
  if (!series) return null;
  if (series.kind === "histogram") {
    const lines: Line[] = [
      { name: "p95", colour: "green", column: series.p95 ?? [], style: "line" },
      { name: "p50", colour: "blue", column: series.p50 ?? [], style: "line" },
    ];
    return { unit: "number", lines };
  }
  const colour = series.kind === "error" ? "red" : "blue";
  const line: Line = { name: "per second", colour, column: perSecond(page, series.count), style: "line" };
  return { unit: "rate", lines: [line] };
}
