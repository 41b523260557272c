// Columns of the endpoint table: their cells and sort keys. The table is in endpoints.ts.

import { type Child, h } from "../dom/el";
import type { Direction } from "../state/sort";
import { bounds, figure, NONE, rank, rowTime, spansRequests, thin, timeOr } from "../text/figures";
import { bytes, count, rate, share } from "../text/units";
import type { Figure, Row, Stats } from "../types";

export interface EndpointColumn {
  key: string;
  name: string;
  title?: string;
  /** The sort direction of the first click: figures start with the highest. */
  first: Direction;
  order: (row: Row) => number | string;
  cell: (row: Row) => Child;
  /** Paths of the shown figures within a row of the summary, for marks of judged figures. */
  figures?: (row: Row) => string[];
}

type Percentile = "p50" | "p90" | "p95" | "p99" | "p999" | "max";
const PERCENTILES: [Percentile, string][] = [
  ["p50", "p50"],
  ["p90", "p90"],
  ["p95", "p95"],
  ["p99", "p99"],
  ["p999", "p99.9"],
  ["max", "max"],
];

/**
 * All columns except the name and the picture. `service` adds service time, for rows with response
 * times.
 */
export function columns(service: boolean): EndpointColumn[] {
  const all: EndpointColumn[] = [
    number("count", "requests", (row) => row.count, count),
    {
      ...number(
        "rate",
        "req/s",
        (row) => row.per_second,
        rate,
        "averaged over the time from the start to the last completion",
      ),
      figures: () => ["per_second"],
    },
    {
      ...number("errors", "errors", (row) => row.errors, count),
      figures: () => ["errors"],
      cell: (row) => (row.errors > 0 ? h("span", { class: "bad-text" }, count(row.errors)) : "0"),
    },
    {
      ...number(
        "share",
        "err %",
        (row) => row.error_share ?? -1,
        (value) => (value < 0 ? NONE : share(value)),
      ),
      figures: () => ["error_share"],
    },
    ...PERCENTILES.map(([key, name]): EndpointColumn => ({
      key,
      name,
      first: "descending",
      order: (row) => rank(rowTime(row)?.stats[key]),
      cell: (row) => cell(rowTime(row)?.stats[key]),
      figures: (row) => times(row, key),
    })),
    {
      ...number(
        "mean",
        "mean",
        (row) => rowTime(row)?.stats.mean_ns ?? -1,
        (ns) => (ns < 0 ? NONE : timeOr(ns)),
        "of answered ones",
      ),
      figures: (row) => times(row, "mean_ns"),
    },
    {
      ...number("bytes", "received", (row) => row.bytes_in, bytes, "bytes received, headers and bodies"),
      // Bytes are counted per request.
      cell: (row) => (spansRequests(row) ? NONE : bytes(row.bytes_in)),
    },
  ];
  if (service) {
    all.splice(10, 0, {
      key: "service",
      name: "service p99",
      title: "p99 of service time: first byte written to last byte read",
      first: "descending",
      order: (row) => rank(serviceTime(row)?.p99),
      cell: (row) => cell(serviceTime(row)?.p99),
      figures: () => ["service/p99"],
    });
  }
  return all;
}

/** Path of a figure of the row's time. */
function times(row: Row, figure: string): string[] {
  const kind = rowTime(row)?.kind;
  return kind ? [`${kind}/${figure}`] : [];
}

/** A percentile. With few samples it is grey, with its interval below. */
function cell(value: Figure | null | undefined): Child {
  if (!value?.thin) return figure(value);
  const interval = bounds(value.thin);
  return h(
    "span",
    {
      class: "thin",
      title:
        "fewer than ten samples are beyond this percentile, so it may be due to chance; shown with its 95 % interval",
    },
    thin(value.thin),
    interval ? h("span", { class: "sub" }, interval) : null,
  );
}

/** The service time, unless the row shows it anyway. */
function serviceTime(row: Row): Stats | null {
  return rowTime(row)?.kind === "service" ? null : row.service;
}

function number(
  key: string,
  name: string,
  of: (row: Row) => number,
  say: (value: number) => string,
  title?: string,
): EndpointColumn {
  return { key, name, first: "descending", order: of, cell: (row) => say(of(row)), ...(title ? { title } : {}) };
}
