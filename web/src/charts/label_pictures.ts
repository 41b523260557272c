// Small pictures of one label as SVG: percentiles over time, and the distribution of its time. The
// tables next to them contain the figures; a cell's title contains its count.

import { svg } from "../dom/el";
import { count, time } from "../text/units";
import type { Series } from "../types";
import { linearEnds, logEnds, logTicks, moment, TIME_STEPS } from "./axes";
import type { Colour } from "./drawing";
import { polyline, round } from "./path";

type LabelSeries = Series["labels"][number];
const WIDTH = 440;
const HEIGHT = 170;
const LEFT = 58;
const RIGHT = WIDTH - 8;
const TOP = 8;
const BOTTOM = HEIGHT - 22;

export const LINES: [("p50" | "p95" | "p99") & keyof LabelSeries, Colour][] = [
  ["p99", "red"],
  ["p95", "green"],
  ["p50", "blue"],
];

/**
 * Draws percentiles over time on a logarithmic scale, with gaps where nothing ended. Returns null
 * if there is nothing to draw.
 */
export function percentilesOverTime(label: LabelSeries, name: string): SVGElement | null {
  const known = LINES.flatMap(([figure]) => label[figure]).filter((ns): ns is number => ns !== null && ns > 0);
  if (known.length === 0) return null;
  const [low, high] = logEnds(Math.min(...known), Math.max(...known));
  const start = label.from_ns[0] ?? 0;
  const length = Math.max((label.to_ns.at(-1) ?? 0) - start, 1);
  const x = (ns: number) => LEFT + ((ns - start) / length) * (RIGHT - LEFT);
  const y = logScale(low, high);
  const step = TIME_STEPS.find((step) => length / 1e9 / step <= 5) ?? 86_400;
  const ticks = Array.from({ length: 7 }, (_, i) => i * step).filter((at) => at * 1e9 <= length);
  return frame(
    `${name}: percentiles over time`,
    ...logTicks(low, high, 5).map((ns) => across(y(ns), time(ns))),
    ...ticks.map((at) => below(x(start + at * 1e9), moment(at, step))),
    ...LINES.map(([figure, colour]) => line(label, figure, colour, x, y)),
  );
}

/** Draws the distribution: one bar per logarithmic cell. */
export function distribution(label: LabelSeries, name: string): SVGElement | null {
  const cells = label.density;
  const [first, last] = [cells[0], cells.at(-1)];
  if (!first || !last) return null;
  const [low, high] = logEnds(Math.max(first[0], 1), last[1]);
  const all = cells.reduce((sum, [, , n]) => sum + n, 0);
  const [, top] = linearEnds(Math.max(...cells.map(([, , n]) => n)) / all);
  const x = (ns: number) => LEFT + (Math.log(Math.max(ns, low) / low) / Math.log(high / low)) * (RIGHT - LEFT);
  const y = (share: number) => BOTTOM - (share / top) * (BOTTOM - TOP);
  const percent = (share: number) => `${Number((share * 100).toPrecision(2))} %`;
  const bars = cells.map(([from, to, n]) => {
    const height = Math.max(BOTTOM - y(n / all), 1);
    const [left, width] = [round(x(from)), round(Math.max(x(to) - x(from) - 1, 1))];
    const title = svg("title", {}, `${time(from)} to ${time(to)}: ${count(n)} of ${count(all)}`);
    return svg(
      "rect",
      { class: "bar", x: left, y: round(BOTTOM - height), width, height: round(height), tabindex: -1 },
      title,
    );
  });
  const room = logTicks(low, high, 6);
  return frame(
    `${name}: distribution`,
    ...[0.25, 0.5, 0.75, 1].map((part) => across(y((top / 1.06) * part), percent((top / 1.06) * part))),
    ...room.map((ns) => below(x(ns), time(ns))),
    ...bars,
  );
}

function logScale(low: number, high: number): (ns: number) => number {
  return (ns) => BOTTOM - (Math.log(Math.max(ns, low) / low) / Math.log(high / low)) * (BOTTOM - TOP);
}

function frame(name: string, ...children: SVGElement[]): SVGElement {
  return svg(
    "svg",
    {
      class: "small-chart",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      role: "img",
      "aria-label": name,
    },
    ...children,
  );
}

/** Draws a horizontal line with a label. */
function across(y: number, text: string): SVGElement {
  return svg(
    "g",
    {},
    svg("path", { class: "grid", d: `M${LEFT} ${round(y)}H${RIGHT}` }),
    svg("text", { x: LEFT - 6, y: round(y + 3.5), "text-anchor": "end" }, text),
  );
}

function below(x: number, text: string): SVGElement {
  const anchor = x > RIGHT - 24 ? "end" : "middle";
  return svg("text", { x: round(x), y: HEIGHT - 6, "text-anchor": anchor }, text);
}

function line(
  label: LabelSeries,
  figure: (typeof LINES)[number][0],
  colour: Colour,
  x: (ns: number) => number,
  y: (ns: number) => number,
): SVGElement {
  const points = label[figure].map((ns, i): [number, number] | null => {
    if (ns === null || ns <= 0) return null;
    return [x(((label.from_ns[i] ?? 0) + (label.to_ns[i] ?? 0)) / 2), y(ns)];
  });
  return svg("path", { class: `line ${colour}`, d: polyline(points, "h1") });
}
