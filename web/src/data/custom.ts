// Custom metrics over time: rates per second, percentiles of histograms, and means.

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
    series.kind === "histogram" ? some(series.p50 ?? []) : some(series.mean ?? []) || any(series.count),
  );
}

/** One metric: per second, p50 and p95 of a histogram, the mean of a gauge, or a share. */
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
  if (series.mean) {
    const isGauge = series.kind === "gauge";
    const line: Line = { name: isGauge ? "mean" : "share", colour: "blue", column: series.mean, style: "line" };
    return { unit: isGauge ? "number" : "share", lines: [line] };
  }
  const colour = series.kind === "error" ? "red" : "blue";
  const line: Line = { name: "per second", colour, column: perSecond(page, series.sum ?? series.count), style: "line" };
  return { unit: "rate", lines: [line] };
}
