// Latency over time: percentiles of the headline time as lines, service time dotted, and the heat
// map.

import type { Colour, Drawing, Line } from "../charts/drawing";
import { headline } from "../text/figures";
import { count, time } from "../text/units";
import type { Page, Times } from "../types";
import { positive, some } from "./columns";

const FIGURES: [keyof Times, string, Colour][] = [
  ["max", "max", "grey"],
  ["p99", "p99", "red"],
  ["p95", "p95", "green"],
  ["p50", "p50", "blue"],
];

/** Percentiles of the headline time (solid) and of service time (dotted). */
export function latency(page: Page): Drawing | null {
  const kind = headline(page.summary);
  const lines = percentiles(kind, page.series.points[kind], "line");
  if (kind !== "service") lines.push(...percentiles("service", page.series.points.service, "dotted"));
  const shown = lines.filter((line) => some(line.column));
  if (shown.length === 0) return null;
  const warm = warmUp(page);
  return { unit: "time", log: true, lines: shown, shaded: late(page), ...(warm ? { warmUp: warm } : {}) };
}

/** Returns the warm-up in seconds, or null if there is none. */
export function warmUp(page: Page): [number, number] | null {
  const { steady } = page.summary;
  if (!steady || steady.settled_ns === null || steady.settled_ns <= steady.from_ns) return null;
  return [steady.from_ns / 1e9, steady.settled_ns / 1e9];
}

/** Periods of a late generator, in seconds. */
export function late(page: Page): [number, number][] {
  return (page.summary.measurement?.late_ns ?? []).map(([from, to]) => [from / 1e9, to / 1e9]);
}

function percentiles(kind: string, times: Times, style: "line" | "dotted"): Line[] {
  return FIGURES.map(([figure, name, colour]) => ({
    name: `${kind} ${name}`,
    colour,
    column: positive(times[figure]),
    style,
    // Eight lines would be too many at first.
    hidden: style === "dotted" && (figure === "max" || figure === "p95"),
  }));
}

/** Distribution over time: latency upwards, counts as colours. */
export function heat(page: Page): Drawing | null {
  const { heat, points } = page.series;
  if (heat.columns.every((cells) => cells.length === 0) || heat.bounds_ns.length < 2) return null;
  const last = points.from_ns.length - 1;
  const columns = heat.columns.map((cells, i) => ({
    from: (points.from_ns[Math.min(i * heat.every, last)] ?? 0) / 1e9,
    to: (points.to_ns[Math.min((i + 1) * heat.every - 1, last)] ?? 0) / 1e9,
    cells,
  }));
  const most = columns.reduce((a, { cells }) => cells.reduce((b, n, i) => (i % 2 === 1 && n > b ? n : b), a), 0);
  const bounds = heat.bounds_ns;
  const at = (index: number, y: number | null): string => {
    const column = columns[Math.floor(index / heat.every)];
    const row = y === null ? -1 : bounds.findLastIndex((bound) => bound <= y);
    const [low, high] = [bounds[row], bounds[row + 1]];
    if (!column || low === undefined || high === undefined) return "";
    const n = column.cells.find((_, i) => i % 2 === 1 && column.cells[i - 1] === row) ?? 0;
    return `${count(n)} between ${time(low)} and ${time(high)}`;
  };
  const nothing = points.from_ns.map(() => null);
  return {
    unit: "time",
    log: true,
    lines: [{ name: "cell", colour: "blue", column: nothing, style: "none", say: at }],
    cells: { bounds, columns, most },
    ends: usedRows(
      bounds,
      columns.map(({ cells }) => cells),
    ),
  };
}

/** Limits the axis to rows with counts. */
function usedRows(bounds: number[], columns: number[][]): [number, number] {
  let least = bounds.length;
  let greatest = 0;
  for (const cells of columns) {
    for (let i = 0; i < cells.length; i += 2) {
      least = Math.min(least, cells[i] ?? least);
      greatest = Math.max(greatest, cells[i] ?? greatest);
    }
  }
  return [bounds[least] ?? 1, bounds[greatest + 1] ?? bounds.at(-1) ?? 10];
}
