// What a table cell says for the record's figures: percentiles that may be bounds, missing or too chancy to give. Nothing is
// computed here but words and an order for sorting.

import type { Figure, Row, Stats, Summary } from "../types";
import { count, share, time } from "./units";

/** Shown where there is nothing to show. */
export const NONE = "–";

/** `1.23 ms`, `≥ 10.0 s`, `no answer`, or a dash where too few samples lie beyond. */
export function figure(value: Figure | null | undefined): string {
  if (!value || value.too_few) return NONE;
  if (value.no_answer) return "no answer";
  if (value.at_least_ns !== undefined) return `≥ ${time(value.at_least_ns)}`;
  return value.ns === undefined ? NONE : time(value.ns);
}

/** A figure's place in an order: a missing answer is above every time, a figure that is not given below. */
export function rank(value: Figure | null | undefined): number {
  if (!value || value.too_few) return -1;
  if (value.no_answer) return Number.POSITIVE_INFINITY;
  return value.at_least_ns ?? value.ns ?? -1;
}

/** A length in nanoseconds, or a dash. */
export function timeOr(ns: number | null | undefined): string {
  return ns === null || ns === undefined ? NONE : time(ns);
}

/** A share, or a dash. */
export function shareOr(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : share(value);
}

/** A margin with its sign: `+12.3 %`, `−4.50 %`. */
export function margin(value: number): string {
  if (value === 0) return "0 %";
  const size = Math.abs(value);
  // Beyond the bound itself digits behind the point say nothing.
  const text = size > 1 ? `${count(Math.round(size * 100))} %` : share(size);
  return value > 0 ? `+${text}` : `−${text}`;
}

/** The kinds of time that a reader may be shown first. */
export type TimeKind = "response" | "iteration" | "service";

/** The time that a row is judged by: its iteration, its response where the schedule set every start, else its service time. */
export function rowTime(row: Row): { kind: TimeKind; stats: Stats } | null {
  if (row.iteration) return { kind: "iteration", stats: row.iteration };
  if (row.response) return { kind: "response", stats: row.response };
  return row.service ? { kind: "service", stats: row.service } : null;
}

/** The run's headline: what its charts over time show as solid lines. */
export function headline(summary: Summary): TimeKind {
  if (summary.all.response) return "response";
  if (summary.run.imported_from) return "service";
  return summary.run.model === "open" && summary.iterations.length > 0 ? "iteration" : "service";
}
