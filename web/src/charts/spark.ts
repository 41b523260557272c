// A label's course in the space of a word: requests per second as bars, errors marked at their feet, p95 as a line.

import { svg } from "../dom/el";
import type { Series } from "../types";
import { polyline, round } from "./path";

type Course = Series["labels"][number];
const WIDTH = 132;
const HEIGHT = 26;

/** The picture; what it shows is said in words beside it, in the table. */
export function spark(course: Course, name: string): SVGElement {
  const end = course.to_ns.at(-1) ?? 1;
  const start = course.from_ns[0] ?? 0;
  const x = (ns: number) => round(((ns - start) / Math.max(end - start, 1)) * WIDTH);
  const rates = course.count.map((n, i) => n / Math.max((course.to_ns[i] ?? 0) - (course.from_ns[i] ?? 0), 1));
  const most = Math.max(...rates, Number.MIN_VALUE);
  let bars = "";
  let errors = "";
  rates.forEach((value, i) => {
    const [left, right] = [x(course.from_ns[i] ?? 0), x(course.to_ns[i] ?? 0)];
    const width = round(Math.max(right - left - 0.4, 0.4));
    const height = round((value / most) * (HEIGHT - 2));
    if (height > 0) bars += `M${left} ${HEIGHT}v${-height}h${width}v${height}z`;
    const wrong = course.errors[i] ?? 0;
    const part = wrong > 0 ? Math.max(round(height * (wrong / Math.max(course.count[i] ?? 1, wrong))), 3) : 0;
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
    svg("path", { class: "spark-p95", d: line(course, x) }),
  );
}

/** p95 on a logarithmic scale of its own, with gaps where there is none. */
function line(course: Course, x: (ns: number) => number): string {
  const values = course.p95.map((ns) => (ns !== null && ns > 0 ? Math.log(ns) : null));
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return "";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // Half a decade at least: noise shall not look like a mountain.
  const span = Math.max(high - low, 1.2);
  const middle = (low + high) / 2;
  const points = values.map((value, i): [number, number] | null => {
    if (value === null) return null;
    const at = (x(course.from_ns[i] ?? 0) + x(course.to_ns[i] ?? 0)) / 2;
    return [at, HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 4)];
  });
  return polyline(points);
}
