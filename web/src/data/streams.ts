// Streamed responses over time: time to first token, gaps, and events per second.

import type { Drawing, Line } from "../charts/drawing";
import type { Page } from "../types";
import { perSecond, positive, some } from "./columns";
import { late } from "./latency";

/** Percentiles of the time to first token (solid) and of gaps (dotted). */
export function streamTimes(page: Page): Drawing | null {
  const stream = page.series.points.stream;
  if (!stream) return null;
  const lines: Line[] = [
    { name: "first token p95", colour: "green", column: positive(stream.ttft.p95), style: "line" },
    { name: "first token p50", colour: "blue", column: positive(stream.ttft.p50), style: "line" },
    { name: "gap p99", colour: "red", column: positive(stream.gap.p99), style: "dotted" },
    { name: "gap p50", colour: "blue", column: positive(stream.gap.p50), style: "dotted" },
  ];
  const shown = lines.filter((line) => some(line.column));
  return shown.length === 0 ? null : { unit: "time", log: true, lines: shown, shaded: late(page) };
}

/** Events with content per second. */
export function tokens(page: Page): Drawing | null {
  const stream = page.series.points.stream;
  if (!stream?.chunks.some((n) => n > 0)) return null;
  const column = perSecond(page, stream.chunks);
  const line: Line = { name: "events with content", colour: "blue", column, style: "line" };
  return { unit: "rate", log: false, lines: [line] };
}
