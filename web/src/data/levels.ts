// Levels over time: concurrency with Little's law, lateness, CPU, stalls, and server metrics.

import type { Colour, Drawing, Line } from "../charts/drawing";
import { decimal } from "../text/units";
import type { Column, Page } from "../types";
import { any, positive, some } from "./columns";
import { late } from "./latency";

/** Requests in flight, sampled and by Little's law, and users. */
export function concurrency(page: Page): Drawing | null {
  const { points } = page.series;
  if (!some(points.in_flight)) return null;
  const lines: Line[] = [
    { name: "in flight, largest", colour: "grey", column: points.in_flight_max, style: "line", hidden: true },
    { name: "in flight, mean", colour: "blue", column: points.in_flight, style: "line" },
    { name: "by Little's law", colour: "orange", column: points.littles_law, style: "dotted" },
    { name: "virtual users", colour: "green", column: points.users, style: "line" },
  ];
  return { unit: "count", lines: lines.filter((line) => some(line.column)) };
}

/** Lateness of the generator. */
export function lateness(page: Page): Drawing | null {
  const times = page.series.points.lateness;
  if (!some(times.p50, times.p99, times.max)) return null;
  const lines: Line[] = [
    { name: "lateness max", colour: "grey", column: positive(times.max), style: "line" },
    { name: "lateness p99", colour: "red", column: positive(times.p99), style: "line" },
    { name: "lateness p50", colour: "blue", column: positive(times.p50), style: "line" },
  ];
  return { unit: "time", log: true, lines: lines.filter((line) => some(line.column)), shaded: late(page) };
}

const WORKER_COLOURS: Colour[] = ["blue", "orange", "green", "purple"];

/** CPU of the workers as shares of a core: work and spinning separately. */
export function cpu(page: Page): Drawing | null {
  const { worker_cpu: work, worker_spin: spin } = page.series.points;
  if (!some(...work)) return null;
  const lines = [...perWorker("work", work, "line"), ...perWorker("spinning", spin, "dotted")];
  return { unit: "share", lines, shaded: late(page) };
}

/** Shares of time in which workers were prevented from running. */
export function kept(page: Page): Drawing | null {
  const { worker_waiting: waiting, worker_steal: steal, throttled } = page.series.points;
  if (!some(...waiting, ...steal) && !any(throttled)) return null;
  const lines = [...perWorker("waiting for a CPU", waiting, "line"), ...perWorker("steal", steal, "dotted")];
  if (any(throttled)) lines.push({ name: "throttled", colour: "red", column: throttled, style: "line" });
  return { unit: "share", lines, shaded: late(page) };
}

/** The longest stall of a worker. */
export function stalls(page: Page): Drawing | null {
  const { stall_ns: stall } = page.series.points;
  if (!any(stall)) return null;
  const line: Line = { name: "longest stall", colour: "purple", column: positive(stall), style: "line" };
  return { unit: "time", log: true, lines: [line], shaded: late(page) };
}

/** One line per worker; with more than four, the maximum and the mean. */
function perWorker(name: string, columns: Column[], style: "line" | "dotted"): Line[] {
  // A dotted line accompanies a solid one of the same worker. A single worker needs no shared
  // colour.
  const only: Colour = style === "line" ? "blue" : "orange";
  if (!some(...columns)) return [];
  if (columns.length <= WORKER_COLOURS.length) {
    return columns.map((column, i) => ({
      name: columns.length === 1 ? name : `${name}, worker ${i + 1}`,
      colour: columns.length === 1 ? only : (WORKER_COLOURS[i] ?? "grey"),
      column,
      style,
    }));
  }
  const over = (fold: (values: number[]) => number): Column =>
    (columns[0] ?? []).map((_, i) => {
      const values = columns.map((column) => column[i] ?? null).filter((value) => value !== null);
      return values.length > 0 ? fold(values) : null;
    });
  return [
    { name: `${name}, busiest`, colour: "blue", column: over((values) => Math.max(...values)), style },
    { name: `${name}, mean`, colour: "orange", column: over((v) => v.reduce((a, b) => a + b, 0) / v.length), style },
  ];
}

const PANEL_COLOURS: Colour[] = ["blue", "orange", "green", "purple", "sky", "red"];

/** One server metric, with a line per series and gaps for missing values. */
export function serverPanel(page: Page, name: string): Drawing | null {
  const panels = (page.series.server ?? []).filter((panel) => panel.name === name && some(panel.values));
  const [first] = panels;
  if (!first) return null;
  const limit = panels.map((panel) => panel.limit).find((value) => value !== null) ?? null;
  return {
    unit: "number",
    lines: panels.map((panel, i) => ({
      name: panel.instance ?? panel.name,
      colour: PANEL_COLOURS[i] ?? "grey",
      column: panel.values,
      style: "line",
      say: (at) => {
        const value = panel.values[at] ?? null;
        return value === null ? "" : `${decimal(value)} ${panel.unit}`.trim();
      },
    })),
    ...(limit === null ? {} : { level: { name: `limit ${decimal(limit)} ${first.unit}`.trim(), value: limit } }),
  };
}

/** One row per criterion: holds, fails, cannot be judged. */
export function timeline(page: Page): Drawing | null {
  const { criteria_timeline: rows, points } = page.series;
  if (rows.length === 0 || points.from_ns.length === 0 || rows.every((row) => row.every((held) => held === null)))
    return null;
  const nothing = points.from_ns.map(() => null);
  const words = (held: boolean | null | undefined) =>
    held === true ? "holds" : held === false ? "does not hold" : "unknown";
  return {
    unit: "number",
    ends: [0, rows.length],
    lines: rows.map((row, i) => ({
      name: `${i + 1} ${page.summary.criteria[i]?.text ?? ""}`.trim(),
      colour: "ink",
      column: nothing,
      style: "none",
      say: (index) => words(row[index]),
    })),
    timeline: { rows, from: points.from_ns.map((ns) => ns / 1e9), to: points.to_ns.map((ns) => ns / 1e9) },
  };
}
