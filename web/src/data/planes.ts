// Charts whose x is not time: the distribution, the percentile curve, and scatter plots.

import type { Colour, Unit } from "../charts/drawing";
import { headline } from "../text/figures";
import { count, share } from "../text/units";
import type { Column, Page, Series } from "../types";
import { perSecond, sum } from "./columns";

export interface Axis {
  name: string;
  unit: Unit;
  log?: boolean;
  /** Positions and texts of ticks, if the unit does not define them. */
  ticks?: { value: number; text: string }[];
}

export interface Trace {
  name: string;
  colour: Colour;
  style: "curve" | "bars" | "outline" | "dots";
  column: Column;
}

export interface Plane {
  x: Axis;
  y: Axis;
  xs: number[];
  traces: Trace[];
  /** Left and right end of each bar. */
  spans?: [number, number][];
  /** For dots: the chart point of each. */
  points?: number[];
  /** Text of the legend for the x below the pointer. */
  say: (index: number) => string;
}

const COLOURS: Record<string, Colour> = { response: "blue", iteration: "blue", service: "orange" };

/** Distribution of responses: share of all per logarithmic cell. */
export function density(page: Page): Plane | null {
  const all = page.series.distribution.filter((d) => d.density.length > 0 && d.count > 0);
  if (all.length === 0) return null;
  const spans = new Map<number, [number, number]>();
  for (const { density } of all) for (const [from, to] of density) spans.set(from, [from, to]);
  const ordered = [...spans.values()].sort((a, b) => a[0] - b[0]);
  const traces = all.map((d, i): Trace => {
    const counts = new Map(d.density.map(([from, , n]) => [from, n]));
    return {
      name: d.time,
      colour: COLOURS[d.time] ?? "purple",
      style: i === 0 ? "bars" : "outline",
      column: ordered.map(([from]) => {
        const n = counts.get(from);
        return n === undefined ? null : n / d.count;
      }),
    };
  });
  const middles = ordered.map(([from, to]) => Math.sqrt(Math.max(from, 1) * to));
  const time = { name: "time", unit: "time", log: true } as const;
  return {
    x: time,
    y: { name: "share of all", unit: "share" },
    xs: middles,
    traces,
    spans: ordered,
    say: (i) => {
      const [from, to] = ordered[i] ?? [0, 0];
      const say = (ns: number) =>
        ns >= 1e6 ? `${Number((ns / 1e6).toPrecision(3))} ms` : `${Number((ns / 1e3).toPrecision(3))} µs`;
      return `${say(from)} to ${say(to)}`;
    },
  };
}

/** Time by percentile. The axis is stretched so that each further nine takes equal room. */
export function curve(page: Page): Plane | null {
  const all = page.series.distribution.filter((d) => d.curve.length > 1);
  if (all.length === 0) return null;
  // The last of n responses is at 1/n; there is nothing to its right.
  const place = (d: Series["distribution"][number], p: number) =>
    Math.min(1 / (1 - Math.min(p, 1)), Math.max(d.count, 1));
  const places = new Set<number>();
  for (const d of all) for (const [p] of d.curve) places.add(place(d, p));
  const xs = [...places].sort((a, b) => a - b);
  const traces = all.map((d): Trace => {
    const values = new Map(d.curve.map(([p, ns]) => [place(d, p), ns]));
    return {
      name: d.time,
      colour: COLOURS[d.time] ?? "purple",
      style: "curve",
      column: xs.map((x) => {
        const ns = values.get(x);
        return ns === undefined || ns <= 0 ? null : ns;
      }),
    };
  });
  const ticks = [0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999].map((p) => ({
    value: Number((1 / (1 - p)).toPrecision(6)),
    text: p === 0 ? "0 %" : `${Number((p * 100).toPrecision(7))} %`,
  }));
  return {
    x: { name: "percentile", unit: "number", log: true, ticks },
    y: { name: "time", unit: "time", log: true },
    xs,
    traces,
    say: (i) => `p${Number(((1 - 1 / (xs[i] ?? 1)) * 100).toPrecision(6))}`,
  };
}

/** p95 of the headline time by request rate, one dot per chart point. */
export function offered(page: Page): Plane | null {
  const kind = headline(page.summary);
  const sent = perSecond(page, page.series.points.issued);
  return scatter(
    { name: "requests sent per second", unit: "rate" },
    { name: `${kind} p95`, unit: "time", log: true },
    sent,
    page.series.points[kind].p95.map((ns) => (ns !== null && ns > 0 ? ns : null)),
    "blue",
  );
}

/** Responses per second by requests in flight, one dot per chart point. */
export function saturation(page: Page): Plane | null {
  const { points } = page.series;
  const answered = perSecond(page, sum(points.ok, points.failed) as number[]);
  return scatter(
    { name: "requests in flight", unit: "count" },
    { name: "requests answered per second", unit: "rate" },
    points.in_flight,
    answered,
    "green",
  );
}

function scatter(x: Axis, y: Axis, across: Column, upwards: Column, colour: Colour): Plane | null {
  const dots = across
    .map((value, point) => ({ x: value, y: upwards[point] ?? null, point }))
    .filter((dot): dot is { x: number; y: number; point: number } => dot.x !== null && dot.y !== null)
    .sort((a, b) => a.x - b.x);
  if (dots.length < 2) return null;
  const xs = dots.map((dot) => dot.x);
  return {
    x,
    y,
    xs,
    traces: [{ name: y.name, colour, style: "dots", column: dots.map((dot) => dot.y) }],
    points: dots.map((dot) => dot.point),
    say: (i) => `${x.name} ${x.unit === "share" ? share(xs[i] ?? 0) : count(Math.round(xs[i] ?? 0))}`,
  };
}
