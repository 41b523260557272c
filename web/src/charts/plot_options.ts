// uPlot options in the page's style: few round ticks, equal axis widths in every chart so that
// times align, and lines.

import uPlot from "uplot";
import type { Shared } from "../state/shared";
import { linearEnds, logEnds, logTicks, moment, TIME_STEPS } from "./axes";
import type { Colours } from "./colours";
import { type Drawing, type Line, tick } from "./drawing";

export const FONT = "11px system-ui, sans-serif";
const LEFT = 66;

/** x is the shared zoom; y starts at zero or is logarithmic. */
export function scales(drawing: () => Drawing, shared: Shared): uPlot.Scales {
  return {
    x: { time: false, range: () => [...shared.zoom.range] },
    y: {
      distr: drawing().log ? 3 : 1,
      range: (_u, least, greatest) => {
        const { log, ends, level } = drawing();
        if (ends) return [...ends];
        return log ? logEnds(least, greatest) : linearEnds(level ? Math.max(greatest ?? 0, level.value) : greatest);
      },
    },
  };
}

/** Time at the bottom, values at the left. */
export function axes(drawing: Drawing, colours: Colours): uPlot.Axis[] {
  const x: uPlot.Axis = {
    ...look(colours),
    size: 30,
    space: 70,
    incrs: TIME_STEPS,
    values: (_u, splits) => splits.map((s, i) => moment(s, (splits[i + 1] ?? s) - s || s - (splits[i - 1] ?? 0))),
  };
  return [x, valueAxis(drawing, colours)];
}

function valueAxis(drawing: Drawing, colours: Colours): uPlot.Axis {
  const rows = drawing.timeline?.rows.length;
  if (rows !== undefined) {
    return {
      ...look(colours),
      size: LEFT,
      grid: { show: false },
      ticks: { show: false },
      splits: () => Array.from({ length: rows }, (_, i) => i + 0.5),
      values: (_u, splits) => splits.map((split) => String(rows - Math.floor(split))),
    };
  }
  return { ...look(colours), size: LEFT, space: 34, ...ticks(drawing.unit, drawing.log ?? false) };
}

/** Options for the ticks of a value axis. */
export function ticks(unit: Drawing["unit"], log: boolean): Partial<uPlot.Axis> {
  const values: uPlot.Axis.DynamicValues = (_u, splits) => splits.map((value) => tick(unit, value));
  if (!log) return { values };
  return {
    values,
    splits: (u, axis, low, high) => {
      const side = u.axes[axis]?.side === 2 ? u.bbox.width / 80 : u.bbox.height / 30;
      return logTicks(low, high, side / uPlot.pxRatio);
    },
    filter: (_u, splits) => splits,
  };
}

export function look(colours: Colours): uPlot.Axis {
  return {
    font: FONT,
    stroke: () => colours.get("muted"),
    grid: { stroke: () => colours.get("grid"), width: 1 },
    ticks: { show: false },
    gap: 6,
  };
}

/** Options for a line, an area, or a series only for the cursor. */
export function lineSeries(line: Line, colours: Colours, show: boolean): uPlot.Series {
  const stroke = colours.get(line.colour);
  const column = line.drawn ?? line.column;
  const base: uPlot.Series = {
    label: line.name,
    show,
    stroke,
    width: line.style === "stack" ? 1 : 1.75,
    // A value without neighbours is drawn as a dot.
    points: { show: true, size: 5, fill: stroke, filter: () => lonely(column) },
  };
  switch (line.style) {
    case "dotted":
      // Long dashes: dots would merge where a line rises and falls at every point.
      return { ...base, dash: [6, 6], width: 1.5 };
    case "area":
      return { ...base, width: 1, fill: colours.faded(line.colour, 0.28) };
    case "stack":
      return { ...base, fill: stroke };
    case "none":
      return { ...base, stroke: "transparent", points: { show: false } };
    default:
      return base;
  }
}

/** Returns the indices whose neighbours have no value. */
export function lonely(column: (number | null)[]): number[] {
  const has = (i: number) => (column[i] ?? null) !== null;
  return column.map((_, i) => i).filter((i) => has(i) && !has(i - 1) && !has(i + 1));
}
