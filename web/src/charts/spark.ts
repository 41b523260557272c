// A label's history as a small picture: requests per second as bars, errors at their bottom, p95 as
// a line.

import { svg } from "../dom/el";
import type { Series } from "../types";
import { polyline, round } from "./path";

type LabelSeries = Series["labels"][number];
const WIDTH = 132;
const HEIGHT = 26;

/** Draws the picture. The table next to it has the figures. */
export function spark(label: LabelSeries, name: string): SVGElement {
  const end = label.to_ns.at(-1) ?? 1;
  const start = label.from_ns[0] ?? 0;
  const x = (ns: number) => round(((ns - start) / Math.max(end - start, 1)) * WIDTH);
  const rates = label.count.map((n, i) => n / Math.max((label.to_ns[i] ?? 0) - (label.from_ns[i] ?? 0), 1));
  const most = Math.max(...rates, Number.MIN_VALUE);
  let bars = "";
  let errors = "";
  rates.forEach((value, i) => {
    const [left, right] = [x(label.from_ns[i] ?? 0), x(label.to_ns[i] ?? 0)];
    const width = round(Math.max(right - left - 0.4, 0.4));
    const height = round((value / most) * (HEIGHT - 2));
    if (height > 0) bars += `M${left} ${HEIGHT}v${-height}h${width}v${height}z`;
    const wrong = label.errors[i] ?? 0;
    const part = wrong > 0 ? Math.max(round(height * (wrong / Math.max(label.count[i] ?? 1, wrong))), 3) : 0;
    if (part > 0) errors += `M${left} ${HEIGHT}v${-part}h${width}v${part}z`;
  });
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
      role: "img",
      "aria-label": `${name} over time`,
    },
    svg("path", { class: "spark-bars", d: bars }),
    svg("path", { class: "spark-errors", d: errors }),
    svg("path", { class: "spark-p95", d: line(label, x) }),
  );
}

/** Draws p95 on its own logarithmic scale, with gaps for missing values. */
function line(label: LabelSeries, x: (ns: number) => number): string {
  const values = label.p95.map((ns) => (ns !== null && ns > 0 ? Math.log(ns) : null));
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return "";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // At least half a decade, so that noise does not look large.
  const span = Math.max(high - low, 1.2);
  const middle = (low + high) / 2;
  const points = values.map((value, i): [number, number] | null => {
    if (value === null) return null;
    const at = (x(label.from_ns[i] ?? 0) + x(label.to_ns[i] ?? 0)) / 2;
    return [at, HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 4)];
  });
  return polyline(points);
}
