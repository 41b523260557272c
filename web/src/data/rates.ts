// Rates over time: plan, requests sent and completed, responses by class, connections.

import type { Colour, Drawing, Line } from "../charts/drawing";
import type { Page } from "../types";
import { any, perSecond, stack, sum } from "./columns";

/** Requests sent and ended per second, with the plan if every arrival is one request. */
export function requests(page: Page): Drawing | null {
  const { points } = page.series;
  if (!any(points.issued) && !any(points.none)) return null;
  // Cancelled requests are not answered: a server that lets requests time out does not keep up.
  const answered = perSecond(page, sum(points.ok, points.failed) as number[]);
  const lines: Line[] = [
    { name: "requests sent", colour: "sky", column: perSecond(page, points.issued), style: "area" },
    { name: "answered", colour: "blue", column: answered, style: "line" },
  ];
  if (any(points.none))
    lines.push({ name: "no answer", colour: "purple", column: perSecond(page, points.none), style: "line" });
  if (oneEach(page))
    lines.push({ name: "planned", colour: "ink", column: perSecond(page, points.due), style: "dotted" });
  return { unit: "rate", lines };
}

/** Arrivals started and planned, if an arrival is more than one request. */
export function arrivals(page: Page): Drawing | null {
  const { points } = page.series;
  if (oneEach(page) || !any(points.due)) return null;
  const lines: Line[] = [
    { name: "arrivals started", colour: "sky", column: perSecond(page, points.started), style: "area" },
    { name: "planned", colour: "ink", column: perSecond(page, points.due), style: "dotted" },
  ];
  if (any(points.skipped)) {
    lines.push({
      name: "skipped because of the plan's limit",
      colour: "orange",
      column: perSecond(page, points.skipped),
      style: "line",
    });
  }
  return { unit: "rate", lines };
}

/**
 * Planned arrivals are planned requests if every iteration was one request.
 */
function oneEach(page: Page): boolean {
  const { all, iterations } = page.summary;
  const ended = iterations.reduce((sum, row) => sum + row.count, 0);
  return (iterations.length === 0 || ended === all.count) && any(page.series.points.due);
}

/** Results of requests, stacked. A response that a check refuses is a failure with any status. */
export function throughput(page: Page): Drawing | null {
  const { points } = page.series;
  return stacked(page, [
    ["answered as expected", "blue", points.ok],
    ["failed", "orange", points.failed],
    ["no answer", "purple", points.none],
  ]);
}

const ERRORS: Record<string, Colour> = {
  "status 5xx": "red",
  "status 4xx": "orange",
  "check or capture": "blue",
  "other status": "sky",
  timeout: "purple",
  refused: "ink",
  reset: "green",
};

/** Errors by class, stacked. */
export function errors(page: Page): Drawing | null {
  const classes = Object.entries(page.series.points.errors ?? {});
  const rank = (name: string) => {
    const place = Object.keys(ERRORS).indexOf(name);
    return place < 0 ? Number.POSITIVE_INFINITY : place;
  };
  classes.sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b));
  return stacked(
    page,
    classes.map(([name, counts]) => [name, ERRORS[name] ?? "grey", counts]),
  );
}

function stacked(page: Page, classes: [string, Colour, number[]][]): Drawing | null {
  const present = classes.filter(([, , counts]) => any(counts));
  if (present.length === 0) return null;
  const rates = present.map(([, , counts]) => perSecond(page, counts));
  const tops = stack(rates);
  const lines: Line[] = present.map(([name, colour], i) => ({
    name,
    colour,
    column: rates[i] ?? [],
    drawn: tops[i] ?? [],
    style: "stack",
  }));
  // Highest first, because later areas cover the lower part.
  return { unit: "rate", lines: lines.reverse() };
}

/** Bytes on the wire. */
export function traffic(page: Page): Drawing | null {
  const { points } = page.series;
  if (!any(points.bytes_in) && !any(points.bytes_out)) return null;
  return {
    unit: "bytes",
    lines: [
      { name: "received", colour: "blue", column: perSecond(page, points.bytes_in), style: "line" },
      { name: "sent", colour: "orange", column: perSecond(page, points.bytes_out), style: "line" },
    ],
  };
}

/** Connections: open at the end of each point, and opened per second. */
export function connections(page: Page): Drawing | null {
  const { points } = page.series;
  if (!any(points.connections_open) && !any(points.connections_opened)) return null;
  return {
    unit: "count",
    lines: [
      { name: "open", colour: "blue", column: points.connections_open, style: "line" },
      {
        name: "opened per second",
        colour: "orange",
        column: perSecond(page, points.connections_opened),
        style: "line",
      },
    ],
  };
}
