// What a chart over time is to show, as plain data: prepared in data/, tested without a browser, painted here in charts/.

import { bytes, count, decimal, duration, rate, share, time } from "../text/units";
import type { Column } from "../types";

/** The names of the style sheet's chart colours. */
export type Colour = "blue" | "sky" | "green" | "orange" | "red" | "purple" | "grey" | "ink";

export type Unit = "time" | "rate" | "count" | "share" | "bytes" | "number";

export interface Line {
  name: string;
  colour: Colour;
  /** The values that the legend reads out. */
  column: Column;
  /** The values that are drawn, where they differ: the height of a stack. */
  drawn?: Column;
  style: "line" | "dotted" | "area" | "stack" | "none";
  /** Not shown until asked for. */
  hidden?: boolean;
  /** What the legend reads out instead of the value; `y` is the height of the pointer. */
  say?: (index: number, y: number | null) => string;
}

/** Coloured cells behind a chart: a heat map. */
export interface Cells {
  bounds: number[];
  /** From, to in seconds, and [row, count, …] as the record has it. */
  columns: { from: number; to: number; cells: number[] }[];
  most: number;
}

/** Rows of yes, no and unknown. */
export interface Timeline {
  rows: (boolean | null)[][];
  from: number[];
  to: number[];
}

export interface Drawing {
  unit: Unit;
  log?: boolean;
  lines: Line[];
  /** Stretches in seconds in which the generator was late. */
  shaded?: [number, number][];
  /** From and to in seconds: the warm-up before a steady state. */
  warmUp?: [number, number];
  /** A line across, with a name. */
  level?: { name: string; value: number };
  cells?: Cells;
  timeline?: Timeline;
  /** Fixed ends of the vertical axis. */
  ends?: [number, number];
}

/** A value as the legend reads it out. */
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

/** A value as an axis says it: round, and therefore short. */
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
