// What a chart over time shows, as plain data. Prepared in data/ and drawn in charts/.

import { bytes, count, decimal, duration, rate, share, time } from "../text/units";
import type { Column } from "../types";

/** Names of the style sheet's chart colours. */
export type Colour = "blue" | "sky" | "green" | "orange" | "red" | "purple" | "grey" | "ink";

export type Unit = "time" | "rate" | "count" | "share" | "bytes" | "number";

export interface Line {
  name: string;
  colour: Colour;
  /** Values in the legend. */
  column: Column;
  /** Values drawn, if they differ: the height of a stack. */
  drawn?: Column;
  style: "line" | "dotted" | "area" | "stack" | "none";
  /** Hidden until selected. */
  hidden?: boolean;
  /** Text of the legend instead of the value; `y` is the height of the pointer. */
  say?: (index: number, y: number | null) => string;
}

/** Coloured cells of a heat map. */
export interface Cells {
  bounds: number[];
  /** Start and end in seconds, and [row, count, …] as in the record. */
  columns: { from: number; to: number; cells: number[] }[];
  most: number;
}

/** Rows of true, false and unknown. */
export interface Timeline {
  rows: (boolean | null)[][];
  from: number[];
  to: number[];
}

export interface Drawing {
  unit: Unit;
  log?: boolean;
  lines: Line[];
  /** Periods in seconds in which the generator was late. */
  shaded?: [number, number][];
  /** Start and end in seconds of the warm-up before a steady state. */
  warmUp?: [number, number];
  /** A horizontal line with a name. */
  level?: { name: string; value: number };
  cells?: Cells;
  timeline?: Timeline;
  /** Fixed ends of the vertical axis. */
  ends?: [number, number];
}

/** Formats a value for the legend. */
export function say(unit: Unit, value: number): string {
  switch (unit) {
    case "time":
      return time(value);
    case "rate":
      return `${rate(value)}/s`;
    case "share":
      return share(value);
    case "bytes":
      return `${bytes(Math.round(value))}/s`;
    case "count":
      return Number.isInteger(value) ? count(value) : decimal(Number(value.toPrecision(3)));
    case "number":
      return decimal(Number(value.toPrecision(4)));
  }
}

/** Formats a value for an axis: round, and therefore short. */
export function tick(unit: Unit, value: number): string {
  const tidy = Number(value.toPrecision(6));
  switch (unit) {
    case "time":
      return duration(Math.round(tidy * 1000) / 1000);
    case "share":
      return `${decimal(tidy * 100)} %`;
    case "bytes":
      return bytes(Math.round(tidy)).replace(/\.0+(?= )/, "");
    default:
      return tidy >= 1000 ? count(Math.round(tidy)) : decimal(tidy);
  }
}
