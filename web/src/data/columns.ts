// Small arithmetic on columns: rates, sums, stacks. Percentiles are never computed here; the record has them.

import type { Column, Page, Series } from "../types";

/** The points' own lengths in seconds; a point without length has none. */
function lengths(points: Series["points"]): (number | null)[] {
  return points.from_ns.map((from, i) => {
    const length = ((points.to_ns[i] ?? from) - from) / 1e9;
    return length > 0 ? length : null;
  });
}

/** Counts by the point's own length. */
export function perSecond(page: Page, counts: number[]): Column {
  const seconds = lengths(page.series.points);
  return counts.map((n, i) => {
    const length = seconds[i];
    return length ? n / length : null;
  });
}

/** Several columns, point by point; null where none has a value. */
export function sum(...columns: Column[]): Column {
  const longest = columns.reduce((a, b) => (b.length > a.length ? b : a), []);
  return longest.map((_, i) => {
    const values = columns.map((column) => column[i] ?? null).filter((value) => value !== null);
    return values.length > 0 ? values.reduce((a, b) => a + b, 0) : null;
  });
}

/** Each column on top of those before it. */
export function stack(columns: Column[]): Column[] {
  return columns.map((_, i) => sum(...columns.slice(0, i + 1)));
}

/** On a logarithmic axis nothing can be nought. */
export function positive(column: Column): Column {
  return column.map((value) => (value !== null && value > 0 ? value : null));
}

/** Whether there is anything to see. */
export function some(...columns: Column[]): boolean {
  return columns.some((column) => column.some((value) => value !== null));
}

/** Whether there is anything but nought. */
export function any(column: Column): boolean {
  return column.some((value) => value !== null && value !== 0);
}
