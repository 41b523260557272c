// What a table cell says for the record's figures: percentiles that may be bounds, missing or too chancy to give. Nothing is
// computed here but words and an order for sorting.

import type { Figure, Row, Stats, Summary, Thin } from "../types";
import { count, rate, share, time } from "./units";

/** Shown where there is nothing to show. */
export const NONE = "–";

/** `1.23 ms`, `≥ 10.0 s`, `no answer`; `312 ms? (280–≥ 401)` where few samples lie beyond. */
export function figure(value: Figure | null | undefined): string {
  if (value?.thin) {
    const interval = bounds(value.thin);
    return interval ? `${thin(value.thin)} (${interval})` : thin(value.thin);
  }
  if (!value || value.too_few) return NONE;
  if (value.no_answer) return "no answer";
  if (value.at_least_ns !== undefined) return `≥ ${time(value.at_least_ns)}`;
  return value.ns === undefined ? NONE : time(value.ns);
}

/** A percentile of few samples without its interval: `312 ms?`, `≥ 401 ms?`, `no answer?`. */
export function thin(value: Thin): string {
  if (value.ns !== undefined) return `${time(value.ns)}?`;
  return value.at_least_ns === undefined ? "no answer?" : `≥ ${time(value.at_least_ns)}?`;
}

/** Its 95 % interval: `280–401`, `280–≥ 401`, `from 280`; a bound in the unit of the value goes without. Null where nothing is known. */
export function bounds(value: Thin): string | null {
  const at = value.ns ?? value.at_least_ns;
  const same = at === undefined ? "" : unitOf(time(at));
  const bound = (ns: number) => {
    const text = time(ns);
    return unitOf(text) === same ? text.slice(0, -same.length) : text;
  };
  if (value.ns === undefined) return value.low_ns === undefined ? null : `from ${bound(value.low_ns)}`;
  const low = value.low_ns === undefined ? null : bound(value.low_ns);
  const largest = value.largest_ns === undefined ? null : `≥ ${bound(value.largest_ns)}`;
  const high = value.high_ns === undefined ? largest : bound(value.high_ns);
  return low === null && high === null ? null : `${low ?? "?"}–${high ?? "?"}`;
}

/** The unit of a time with the space before it. */
function unitOf(text: string): string {
  const at = text.indexOf(" ");
  return at < 0 ? "" : text.slice(at);
}

/** A figure's place in an order: a missing answer is above every time, a figure that is not given below. */
export function rank(value: Figure | null | undefined): number {
  if (value?.thin) return value.thin.ns ?? value.thin.at_least_ns ?? Number.POSITIVE_INFINITY;
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

/** A margin with its sign: `+12.3 %`, `−4.50 %`; where something was `measured` above zero, from twice the bound on how often that is. */
export function margin(value: number, measured: number | null = null): string {
  if (value === 0) return "0 %";
  const size = Math.abs(value);
  if (size >= 1 && (measured ?? 0) > 0) return `${rate(1 + size)} × the bound`;
  // Beyond the bound itself digits behind the point say nothing.
  const text = size > 1 ? `${count(Math.round(size * 100))} %` : share(size);
  return value > 0 ? `+${text}` : `−${text}`;
}

/** The kinds of time that a reader may be shown first. */
export type TimeKind = "response" | "iteration" | "service";

/** Whether a row's time spans requests: bytes and answers are counted with those. */
export function spansRequests(row: Row): boolean {
  return row.group === "iteration" || row.group === "transaction";
}

/** The time that a row is judged by: its iteration or transaction, its response where the schedule set every start, else its service time. */
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
