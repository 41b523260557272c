// A chart whose x is not time: bars and curves of a distribution, or dots, one per chart point.
// Dots follow the shared cursor and fade outside the shared zoom.

import uPlot from "uplot";
import type { Axis, Plane, Trace } from "../data/planes";
import type { Page } from "../types";
import { linearEnds, logEnds } from "./axes";
import { say } from "./drawing";
import type { Env } from "./env";
import { Frame, type Titled } from "./frame";
import { look, ticks } from "./plot_options";

export interface PlaneSpec extends Titled {
  draw: (page: Page) => Plane | null;
}

const HEIGHT = 260;

export class PlaneChart {
  #frame: Frame;
  #plot: uPlot | null = null;
  #plane: Plane | null = null;
  #chosen: number | null = null;

  constructor(
    private readonly env: Env,
    spec: PlaneSpec,
    private readonly prepare = spec.draw,
  ) {
    this.#frame = new Frame(spec, "Use the arrow keys to move along the chart.", HEIGHT, {
      key: (event) => this.#key(event),
      leave: () => this.#choose(null),
      resize: () => this.#frame.fit(this.#plot, this.#width(), HEIGHT),
    });
    env.shared.onZoom(() => this.#plot?.redraw(false));
    env.shared.onCursor(() => this.#follow());
    env.onRemake(() => this.#plot && env.lazy.request(this));
  }

  get el(): HTMLElement {
    return this.#frame.el;
  }

  /** Updates the data. Returns true if there is something to show. */
  update(page: Page): boolean {
    const plane = this.prepare(page);
    this.#plane = plane;
    this.#frame.el.hidden = plane === null;
    if (!plane) return false;
    const dots = (trace: Trace) => trace.style === "dots";
    this.#frame.legend.show(
      plane.traces.map((trace) => ({
        name: trace.name,
        colour: trace.colour,
        sample: dots(trace) ? "dot" : trace.style === "bars" ? "area" : "line",
        shown: true,
        toggle: null,
      })),
    );
    this.env.lazy.request(this);
    return true;
  }

  draw(): void {
    const plane = this.#plane;
    if (!plane || this.#frame.el.hidden) return;
    this.#plot?.destroy();
    this.#plot = new uPlot(
      {
        width: this.#width(),
        height: HEIGHT,
        padding: [10, 26, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: false, y: false, setScale: false },
          bind: { dblclick: () => () => null },
          points: { size: 7 },
        },
        scales: { x: scale(plane.x, plane.spans), y: scale(plane.y) },
        axes: [this.#axis(plane.x, 44, plane.x.name), this.#axis(plane.y, 66)],
        series: [{}, ...plane.traces.map((trace) => this.#series(trace))],
        hooks: {
          drawAxes: [(u) => this.#bars(u)],
          draw: [(u) => this.#dots(u)],
          setCursor: [(u) => this.#point(u)],
        },
      },
      [plane.xs, ...plane.traces.map((trace) => trace.column)],
      this.#frame.place,
    );
    this.#follow();
  }

  #axis(axis: Axis, size: number, label?: string): uPlot.Axis {
    const base = { ...look(this.env.colours), size: label ? size - 16 : size, space: label ? 60 : 34 };
    const named: uPlot.Axis = label
      ? { ...base, label, labelSize: 16, labelGap: 0, labelFont: "11px system-ui, sans-serif" }
      : base;
    if (!axis.ticks) return { ...named, ...ticks(axis.unit, axis.log ?? false) };
    const fixed = axis.ticks;
    return {
      ...named,
      splits: (_u, _i, low, high) => fixed.map((t) => t.value).filter((v) => v >= low * 0.999 && v <= high * 1.001),
      filter: (_u, splits) => splits,
      values: (_u, splits) => splits.map((v) => fixed.find((t) => t.value === v)?.text ?? ""),
    };
  }

  #series(trace: Trace): uPlot.Series {
    const stroke = this.env.colours.get(trace.colour);
    if (trace.style === "curve")
      return { label: trace.name, stroke, width: 1.75, spanGaps: true, points: { show: false } };
    return { label: trace.name, stroke, paths: () => null, points: { show: false } };
  }

  /** Draws a bar per cell: filled for the first distribution, outlined for others. */
  #bars(u: uPlot): void {
    const plane = this.#plane;
    if (!plane?.spans) return;
    const { ctx } = u;
    const foot = u.bbox.top + u.bbox.height;
    ctx.save();
    for (const trace of plane.traces) {
      ctx.fillStyle = this.env.colours.faded(trace.colour, 0.55);
      ctx.strokeStyle = this.env.colours.get(trace.colour);
      ctx.lineWidth = 1.5 * uPlot.pxRatio;
      ctx.beginPath();
      let end: number | null = null;
      plane.spans.forEach(([from, to], i) => {
        const value = trace.column[i] ?? null;
        if (value === null) return;
        const left = u.valToPos(Math.max(from, 1), "x", true);
        const right = u.valToPos(to, "x", true);
        const top = u.valToPos(value, "y", true);
        if (trace.style === "bars") {
          ctx.fillRect(left, top, Math.max(right - left - 1, 1), foot - top);
          return;
        }
        if (end === null || left - end > 1) ctx.moveTo(left, foot);
        ctx.lineTo(left, top);
        ctx.lineTo(right, top);
        end = right;
      });
      if (trace.style === "outline") ctx.stroke();
    }
    ctx.restore();
  }

  /** Draws a dot per chart point, faded outside the zoom, with a ring at the cursor. */
  #dots(u: uPlot): void {
    const plane = this.#plane;
    if (!plane?.points) return;
    const { ctx } = u;
    const { shared, colours } = this.env;
    const [first, last] = shared.visible();
    ctx.save();
    for (const trace of plane.traces) {
      plane.points.forEach((point, i) => {
        const at = circle(u, plane.xs[i], trace.column[i]);
        if (!at) return;
        ctx.fillStyle = colours.faded(trace.colour, point >= first && point <= last ? 0.6 : 0.1);
        ctx.beginPath();
        ctx.arc(at[0], at[1], 3 * uPlot.pxRatio, 0, 2 * Math.PI);
        ctx.fill();
      });
      const chosen = shared.cursor === null ? -1 : plane.points.indexOf(shared.cursor);
      const at = chosen < 0 ? null : circle(u, plane.xs[chosen], trace.column[chosen]);
      if (!at) continue;
      ctx.strokeStyle = colours.get("ink");
      ctx.lineWidth = 2 * uPlot.pxRatio;
      ctx.beginPath();
      ctx.arc(at[0], at[1], 6 * uPlot.pxRatio, 0, 2 * Math.PI);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** Handles pointer moves. */
  #point(u: uPlot): void {
    if (this.#frame.isPointedAt) this.#choose((u.cursor.left ?? -1) >= 0 ? (u.cursor.idx ?? null) : null);
  }

  /** Moves the shared cursor for dots; otherwise only updates the legend. */
  #choose(index: number | null): void {
    const points = this.#plane?.points;
    this.#chosen = index;
    if (points) this.env.shared.cursor = index === null ? null : (points[index] ?? null);
    else this.#speak(index);
  }

  /** Handles moves of the shared cursor. */
  #follow(): void {
    const plane = this.#plane;
    if (!plane?.points) return;
    const { cursor } = this.env.shared;
    this.#speak(cursor === null ? null : plane.points.indexOf(cursor));
    this.#plot?.redraw(false);
  }

  #speak(index: number | null): void {
    const plane = this.#plane;
    if (!plane) return;
    const none = index === null || index < 0;
    this.#frame.moment.textContent = none ? "" : plane.say(index);
    this.#frame.legend.say(
      plane.traces.map((trace) => {
        const value = none ? null : (trace.column[index] ?? null);
        return none ? "" : value === null ? "–" : say(plane.y.unit, value);
      }),
    );
  }

  #key(event: KeyboardEvent): void {
    const u = this.#plot;
    const plane = this.#plane;
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!u || !plane || step === 0) return;
    event.preventDefault();
    const at = this.#chosen ?? (step > 0 ? -1 : plane.xs.length);
    const next = Math.max(0, Math.min(plane.xs.length - 1, at + step));
    u.setCursor({ left: u.valToPos(plane.xs[next] ?? 0, "x"), top: 1 }, false);
    this.#choose(next);
    this.env.announce(`${this.#frame.moment.textContent}: ${this.#frame.legend.text()}`);
  }

  #width(): number {
    return this.env.paper === null ? this.#frame.width : (this.env.paper - 24) / 2;
  }
}

function scale(axis: Axis, spans?: [number, number][]): uPlot.Scale {
  return {
    time: false,
    distr: axis.log ? 3 : 1,
    range: (_u, least, greatest) => {
      if (axis.ticks) return [1, Math.max(greatest ?? 1, 10)];
      const [low, high] = [spans?.[0]?.[0] ?? least, spans?.at(-1)?.[1] ?? greatest];
      return axis.log ? logEnds(Math.max(low ?? 1, 1), high) : linearEnds(greatest);
    },
  };
}

function circle(u: uPlot, x: number | undefined, y: number | null | undefined): [number, number] | null {
  if (x === undefined || y === null || y === undefined) return null;
  return [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
}
