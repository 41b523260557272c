// Draws the cells of a heat map and the criteria timeline on a chart's canvas.

import uPlot from "uplot";
import type { Colours } from "./colours";
import type { Cells, Timeline } from "./drawing";
import { hatch } from "./marks";

/** Opacity of a cell. One request must be visible next to a million. */
export function fullness(n: number, most: number): number {
  return most <= 1 ? 1 : Math.log(n) / Math.log(most);
}

/** A rectangle per cell, coloured by its count. */
export function cells(u: uPlot, { bounds, columns, most }: Cells, colours: Colours): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const heights = bounds.map((bound) => Math.round(u.valToPos(bound, "y", true)));
  for (const column of columns) {
    const from = Math.round(u.valToPos(column.from, "x", true));
    const to = Math.max(Math.round(u.valToPos(column.to, "x", true)), from + 1);
    if (to < bbox.left || from > bbox.left + bbox.width) continue;
    for (let i = 0; i + 1 < column.cells.length; i += 2) {
      const row = column.cells[i] ?? 0;
      const bottom = heights[row];
      const top = heights[row + 1];
      if (bottom === undefined || top === undefined) continue;
      ctx.fillStyle = colours.heat(fullness(column.cells[i + 1] ?? 1, most));
      ctx.fillRect(from, top, to - from, Math.max(bottom - top, 1));
    }
  }
  ctx.restore();
}

/**
 * Draws one row per criterion: a quiet band if it holds, full and hatched if it fails, a thin line
 * if it cannot be judged.
 */
export function timeline(u: uPlot, { rows, from, to }: Timeline, colours: Colours): void {
  const { ctx, bbox } = u;
  const ratio = uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  rows.forEach((row, lane) => {
    const top = u.valToPos(rows.length - lane, "y", true) + 3 * ratio;
    const height = u.valToPos(rows.length - lane - 1, "y", true) - 3 * ratio - top;
    const middle = top + height / 2;
    for (const [start, end, held] of stretches(row, from, to)) {
      const left = u.valToPos(start, "x", true);
      const width = Math.max(u.valToPos(end, "x", true) - left, 1);
      if (held === false) {
        hatch(ctx, left, top, width, height, ratio, colours, "red", 0.55);
      } else {
        const thick = held === true ? height * 0.36 : 1.5 * ratio;
        ctx.fillStyle = held === true ? colours.get("green") : colours.get("phase");
        ctx.fillRect(left, middle - thick / 2, width, thick);
      }
    }
  });
  ctx.restore();
}

/** Joins neighbours with equal values. */
export function stretches(row: (boolean | null)[], from: number[], to: number[]): [number, number, boolean | null][] {
  const all: [number, number, boolean | null][] = [];
  row.forEach((held, i) => {
    const last = all.at(-1);
    const end = to[i] ?? 0;
    if (last && last[2] === held) last[1] = end;
    else all.push([from[i] ?? 0, end, held]);
  });
  return all;
}
