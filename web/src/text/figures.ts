// Texts of table cells for figures that may be bounds, missing or uncertain, and their sort order.

import type { Figure, Row, Stats, Summary, Thin } from "../types";
import { count, rate, share, time, timeDigits } from "./units";

/** Shown for a missing value. */
export const NONE = "–";

/** `1.23 ms`, `≥ 10.0 s`, `no answer`; `312 ms? (280–≥ 401)` with few samples beyond. */
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

/**
 * The 95 % interval: `280–401`, `280–≥ 401`, `from 280`, in the unit of the value.
 * Null if nothing is known.
 */
export function bounds(value: Thin): string | null {
  const at = value.ns ?? value.at_least_ns;
  const bound = (ns: number) => (at === undefined ? time(ns) : timeDigits(ns, at));
  if (value.ns === undefined) return value.low_ns === undefined ? null : `from ${bound(value.low_ns)}`;
  const low = value.low_ns === undefined ? null : bound(value.low_ns);
  const largest = value.largest_ns === undefined ? null : `≥ ${bound(value.largest_ns)}`;
  const high = value.high_ns === undefined ? largest : bound(value.high_ns);
  return low === null && high === null ? null : `${low ?? "?"}–${high ?? "?"}`;
}

/** Sort key of a figure: missing responses are above every time, missing figures below. */
export function rank(value: Figure | null | undefined): number {
  if (value?.thin) return value.thin.ns ?? value.thin.at_least_ns ?? Number.POSITIVE_INFINITY;
  if (!value || value.too_few) return -1;
  if (value.no_answer) return Number.POSITIVE_INFINITY;
  return value.at_least_ns ?? value.ns ?? -1;
}

/** A duration in nanoseconds, or a dash. */
export function timeOr(ns: number | null | undefined): string {
  return ns === null || ns === undefined ? NONE : time(ns);
}

/** A share, or a dash. */
export function shareOr(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : share(value);
}

/**
 * A signed margin: `+12.3 %`, `−4.50 %`. From twice the bound on, as a multiple of it, if
 * `measured` is above zero.
 */
export function margin(value: number, measured: number | null = null): string {
  if (value === 0) return "0 %";
  const size = Math.abs(value);
  if (size >= 1 && (measured ?? 0) > 0) return `${rate(1 + size)} × the bound`;
  // Above 100 % decimals are not significant.
  const text = size > 1 ? `${count(Math.round(size * 100))} %` : share(size);
  return value > 0 ? `+${text}` : `−${text}`;
}

/** Kinds of time that may be the headline. */
export type TimeKind = "response" | "iteration" | "service";

/** Whether a row's time spans requests. Bytes and codes are counted per request. */
export function spansRequests(row: Row): boolean {
  return row.group === "iteration" || row.group === "transaction";
}

/**
 * The time a row is judged by: iteration or transaction; response; or service, if another tool
 * measured only that.
 */
export function rowTime(row: Row): { kind: TimeKind; stats: Stats } | null {
  if (row.iteration) return { kind: "iteration", stats: row.iteration };
  if (row.response) return { kind: "response", stats: row.response };
  return row.service ? { kind: "service", stats: row.service } : null;
}

/** The headline time of the run, drawn as solid lines. */
export function headline(summary: Summary): "response" | "service" {
  return summary.all.service && !summary.all.response ? "service" : "response";
}
