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

/** Parts of the response time, with their names and meanings. */
const PARTS: ["service" | "first_byte", string, string][] = [
  ["service", "service", "service time: first byte written to last byte read"],
  ["first_byte", "first byte", "first byte written to first byte of the response read"],
];

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
 * All columns except the name and the picture. Rows with response times add p99 of their service
 * time, and the other figures of parts that criteria judge.
 */
export function columns(rows: Row[]): EndpointColumn[] {
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
  all.splice(10, 0, ...judgedColumns(rows));
  all.splice(10, 0, ...PARTS.flatMap(([time, name, meaning]) => partColumns(rows, time, name, meaning)));
  return all;
}

const STREAM_TIMES: Record<string, string> = {
  first_event: "first event",
  ttft: "time to first token",
  gap: "gap",
  per_token: "time per token",
};

/** Percentiles that criteria name and that have no column otherwise. */
function judgedColumns(rows: Row[]): EndpointColumn[] {
  const pairs = rows.flatMap((row) =>
    Object.entries(row.judged_percentiles ?? {}).flatMap(([time, figures]) =>
      Object.keys(figures).map((name) => `${time}/${name}`),
    ),
  );
  return [...new Set(pairs)].sort().map((path): EndpointColumn => {
    const [time = "", name = ""] = path.split("/");
    const of = (row: Row) => row.judged_percentiles?.[time]?.[name];
    const part = PARTS.find(([key]) => key === time)?.[1] ?? STREAM_TIMES[time];
    return {
      key: path,
      name: part ? `${part} ${name}` : name,
      first: "descending",
      order: (row) => rank(of(row)),
      cell: (row) => cell(of(row)),
      figures: () => [`judged_percentiles/${path}`],
    };
  });
}

function partColumns(rows: Row[], time: "service" | "first_byte", name: string, meaning: string): EndpointColumn[] {
  const having = rows.filter((row) => partOf(row, time) !== null);
  const judged = new Set(having.flatMap((row) => row.judged ?? []));
  const shown = PERCENTILES.filter(
    ([key]) => judged.has(`${time}/${key}`) || (time === "service" && key === "p99" && having.length > 0),
  );
  const percentiles = shown.map(([key, title]): EndpointColumn => ({
    key: `${time}-${key}`,
    name: `${name} ${title}`,
    title: `${title} of ${meaning}`,
    first: "descending",
    order: (row) => rank(partOf(row, time)?.[key]),
    cell: (row) => cell(partOf(row, time)?.[key]),
    figures: (row) => (partOf(row, time) ? [`${time}/${key}`] : []),
  }));
  if (!judged.has(`${time}/mean_ns`)) return percentiles;
  const mean = number(
    `${time}-mean`,
    `${name} mean`,
    (row) => partOf(row, time)?.mean_ns ?? -1,
    (ns) => (ns < 0 ? NONE : timeOr(ns)),
    `mean of ${meaning}`,
  );
  return [...percentiles, { ...mean, figures: (row) => (partOf(row, time) ? [`${time}/mean_ns`] : []) }];
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

/** A part of the response time, unless the row shows it anyway. */
function partOf(row: Row, time: "service" | "first_byte"): Stats | null {
  return rowTime(row)?.kind === time ? null : (row[time] ?? null);
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
