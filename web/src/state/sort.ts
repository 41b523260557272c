// Sorting of table rows. Equal rows keep the order of the report.

export type Direction = "ascending" | "descending";

export interface Order {
  column: string;
  direction: Direction;
}

/**
 * Handles a click on a heading: a new column starts with `first`, the second click reverses it, the
 * third resets it.
 */
export function press(order: Order | null, column: string, first: Direction): Order | null {
  if (order?.column !== column) return { column, direction: first };
  if (order.direction === first) return { column, direction: first === "ascending" ? "descending" : "ascending" };
  return null;
}

/** Sorts rows by `key`. */
export function sorted<T>(rows: readonly T[], key: (row: T) => number | string, direction: Direction): T[] {
  const sign = direction === "ascending" ? 1 : -1;
  return rows
    .map((row, i) => ({ row, i, key: key(row) }))
    .sort((a, b) => sign * compare(a.key, b.key) || a.i - b.i)
    .map(({ row }) => row);
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return a === b ? 0 : a < b ? -1 : 1;
}
