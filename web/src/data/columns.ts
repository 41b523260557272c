// Arithmetic on columns: rates, sums, stacks. Percentiles are never computed here; they come from
// the record.

import type { Column, Page, Series } from "../types";

/** Returns the lengths of the points in seconds, null for a point without length. */
function lengths(points: Series["points"]): (number | null)[] {
  return points.from_ns.map((from, i) => {
    const length = ((points.to_ns[i] ?? from) - from) / 1e9;
    return length > 0 ? length : null;
  });
}

/** Divides counts by the length of their point. */
export function perSecond(page: Page, counts: number[]): Column {
  const seconds = lengths(page.series.points);
  return counts.map((n, i) => {
    const length = seconds[i];
    return length ? n / length : null;
  });
}

/** Adds columns point by point; null if none has a value. */
export function sum(...columns: Column[]): Column {
  const longest = columns.reduce((a, b) => (b.length > a.length ? b : a), []);
  return longest.map((_, i) => {
    const values = columns.map((column) => column[i] ?? null).filter((value) => value !== null);
    return values.length > 0 ? values.reduce((a, b) => a + b, 0) : null;
  });
}

/** Stacks each column on the previous ones. */
export function stack(columns: Column[]): Column[] {
  return columns.map((_, i) => sum(...columns.slice(0, i + 1)));
}

/** Replaces zeros by null, because a logarithmic axis has no zero. */
export function positive(column: Column): Column {
  return column.map((value) => (value !== null && value > 0 ? value : null));
}

/** Returns whether any column has a value. */
export function some(...columns: Column[]): boolean {
  return columns.some((column) => column.some((value) => value !== null));
}

/** Returns whether the column has a value other than zero. */
export function any(column: Column): boolean {
  return column.some((value) => value !== null && value !== 0);
}
