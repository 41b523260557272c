// Marks below the lines of a chart over time: phases, periods of a late generator, a warm-up, a
// limit.

import uPlot from "uplot";
import type { PhaseRow } from "../types";
import type { Colours } from "./colours";

/** Draws borders between phases, and their names above the chart where they fit. */
export function phases(u: uPlot, rows: PhaseRow[], named: boolean, colours: Colours): void {
  if (rows.length === 0) return;
  const { ctx } = u;
  const ratio = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  for (const phase of rows) {
    const from = u.valToPos(phase.start_ns / 1e9, "x", true);
    const to = Math.min(u.valToPos(phase.end_ns / 1e9, "x", true), left + width);
    if (to < left || from > left + width) continue;
    if (from > left + 1) {
      ctx.strokeStyle = colours.get("phase");
      ctx.lineWidth = ratio;
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(from, named ? top - 16 * ratio : top);
      ctx.lineTo(from, top + height);
      ctx.stroke();
    }
    if (!named) continue;
    const start = Math.max(from, left);
    const text = fitting(ctx, phase.name, to - start - 8 * ratio);
    ctx.fillStyle = colours.get("muted");
    if (text) ctx.fillText(text, start + 4 * ratio, top - 4 * ratio);
  }
  ctx.restore();
}

/** Draws shaded and hatched periods. */
export function shaded(u: uPlot, ranges: [number, number][], colours: Colours, colour = "orange"): void {
  for (const [start, end] of ranges) {
    const from = Math.max(u.valToPos(start, "x", true), u.bbox.left);
    const to = Math.min(u.valToPos(end, "x", true), u.bbox.left + u.bbox.width);
    if (to > from) hatch(u.ctx, from, u.bbox.top, to - from, u.bbox.height, uPlot.pxRatio, colours, colour);
  }
}

/** Fills a rectangle with diagonal lines. */
export function hatch(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  ratio: number,
  colours: Colours,
  colour: string,
  strength = 0.16,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  ctx.fillStyle = colours.faded(colour, strength);
  ctx.fillRect(x, y, width, height);
  ctx.strokeStyle = colours.faded(colour, Math.min(1, strength * 2.2));
  ctx.lineWidth = ratio;
  ctx.beginPath();
  const gap = 6 * ratio;
  // Lines are at fixed positions, so that adjacent rectangles look like one.
  for (let at = Math.floor((x - height) / gap) * gap; at < x + width; at += gap) {
    ctx.moveTo(at, y + height);
    ctx.lineTo(at + height, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** Draws a horizontal line with its name. */
export function level(u: uPlot, name: string, value: number, colours: Colours): void {
  const y = u.valToPos(value, "y", true);
  const { ctx } = u;
  const ratio = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  if (y < top || y > top + height) return;
  ctx.save();
  ctx.strokeStyle = colours.get("red");
  ctx.fillStyle = colours.get("red");
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  ctx.moveTo(left, y);
  ctx.lineTo(left + width, y);
  ctx.stroke();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText(name, left + width - 4 * ratio, y - 3 * ratio);
  ctx.restore();
}

/** Returns the text, shortened to fit, or null if almost nothing would be left. */
function fitting(ctx: CanvasRenderingContext2D, text: string, width: number): string | null {
  if (ctx.measureText(text).width <= width) return text;
  for (let length = text.length - 1; length >= 3; length--) {
    const cut = `${text.slice(0, length).trimEnd()}…`;
    if (ctx.measureText(cut).width <= width) return cut;
  }
  return null;
}
