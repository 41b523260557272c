// Merges a second of a running test into the page. Points from `from` on are new; short data is
// replaced.

import type { Column, CustomSeries, Page, Series, Tick, Times } from "../types";

type Points = Series["points"];
const TIMES = ["response", "service", "iteration", "lateness", "wait"] as const;
const WORKERS = ["worker_cpu", "worker_spin", "worker_waiting", "worker_steal"] as const;

/** Returns the merged page, or null if points are missing and the page must be fetched again. */
export function merge(page: Page, tick: Tick): Page | null {
  const had = page.series.points.from_ns.length;
  if (tick.from > had) return null;
  const criteria_timeline = tick.series.criteria_timeline.map((lane, i) => [
    ...(page.series.criteria_timeline[i] ?? []).slice(0, tick.from),
    ...lane,
  ]);
  const panels = tick.series.server?.map((panel) => {
    const known = page.series.server?.find(
      (other) => other.name === panel.name && other.instance === panel.instance,
    )?.values;
    // A new metric has no earlier values.
    const before = known?.slice(0, tick.from) ?? new Array<null>(tick.from).fill(null);
    return { ...panel, values: [...before, ...panel.values] };
  });
  const custom = tick.series.custom?.map((series) => customSeries(page, series, tick.from));
  return {
    manifest: page.manifest,
    summary: tick.summary,
    series: {
      ...tick.series,
      points: points(page.series.points, tick.series.points, tick.from),
      criteria_timeline,
      ...(panels ? { server: panels } : {}),
      ...(custom ? { custom } : {}),
    },
  };
}

function customSeries(page: Page, fresh: CustomSeries, from: number): CustomSeries {
  const known = page.series.custom?.find((other) => other.name === fresh.name && other.kind === fresh.kind);
  // A new metric has no earlier values.
  const counts = known?.count.slice(0, from) ?? new Array<number>(from).fill(0);
  const figures = (before: Column | undefined, after: Column): Column => [
    ...(before?.slice(0, from) ?? new Array<null>(from).fill(null)),
    ...after,
  ];
  return {
    ...fresh,
    count: [...counts, ...fresh.count],
    ...(fresh.p50 ? { p50: figures(known?.p50, fresh.p50) } : {}),
    ...(fresh.p95 ? { p95: figures(known?.p95, fresh.p95) } : {}),
    ...(fresh.sum ? { sum: [...(known?.sum?.slice(0, from) ?? new Array<number>(from).fill(0)), ...fresh.sum] } : {}),
    ...(fresh.mean ? { mean: figures(known?.mean, fresh.mean) } : {}),
  };
}

function points(old: Points, fresh: Points, from: number): Points {
  const join = <T>(a: T[], b: T[]): T[] => [...a.slice(0, from), ...b];
  const joined: Record<string, unknown> = {};
  for (const [key, values] of Object.entries(fresh)) {
    if (Array.isArray(values)) joined[key] = join((old as unknown as Record<string, unknown[]>)[key] ?? [], values);
  }
  const joinTimes = (a: Times, b: Times): Times => ({
    p50: join(a.p50, b.p50),
    p95: join(a.p95, b.p95),
    p99: join(a.p99, b.p99),
    max: join(a.max, b.max),
  });
  for (const key of TIMES) joined[key] = joinTimes(old[key], fresh[key]);
  if (fresh.stream) {
    // The first points may have no streams.
    const none: Column = new Array(from).fill(null);
    const before: Times = { p50: none, p95: none, p99: none, max: none };
    joined.stream = {
      ttft: joinTimes(old.stream?.ttft ?? before, fresh.stream.ttft),
      gap: joinTimes(old.stream?.gap ?? before, fresh.stream.gap),
      chunks: join(old.stream?.chunks ?? new Array<number>(from).fill(0), fresh.stream.chunks),
    };
  }
  joined.errors = Object.fromEntries(
    // A new class has no earlier errors.
    Object.entries(fresh.errors).map(([name, column]) => [
      name,
      join(old.errors[name] ?? new Array(from).fill(0), column),
    ]),
  );
  for (const key of WORKERS) {
    // A new worker has no earlier values.
    const missing: Column = new Array(from).fill(null);
    joined[key] = fresh[key].map((column, i) => join(old[key][i] ?? missing, column));
  }
  return joined as unknown as Points;
}
