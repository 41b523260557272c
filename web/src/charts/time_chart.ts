// A chart over time. All of them share one cursor and one zoom. A chart shows a Drawing, is drawn
// when the page is idle, and redrawn when its data, theme or width changes.

import uPlot from "uplot";
import type { Column, Page } from "../types";
import { moment } from "./axes";
import { cells, timeline } from "./cells";
import { type Drawing, type Line, say } from "./drawing";
import type { Env } from "./env";
import { Frame, type Titled } from "./frame";
import { KEYS_HELP, press } from "./keys";
import type { Entry } from "./legend";
import { level, phases, shaded } from "./marks";
import { axes, lineSeries, scales } from "./plot_options";

export interface TimeSpec extends Titled {
  height?: number;
  /** Show phase names above the chart. */
  phases?: boolean;
  draw: (page: Page) => Drawing | null;
}

export class TimeChart {
  #frame: Frame;
  #plot: uPlot | null = null;
  #page: Page | null = null;
  #drawing: Drawing | null = null;
  #shape = "";
  #hidden = new Map<string, boolean>();
  #pointer: number | null = null;

  constructor(
    private readonly env: Env,
    private readonly spec: TimeSpec,
  ) {
    this.#frame = new Frame(spec, KEYS_HELP, this.#height(), {
      key: (event) => this.#key(event),
      leave: () => {
        env.shared.cursor = null;
      },
      resize: () => this.#frame.fit(this.#plot, this.#width(), this.#height()),
    });
    env.shared.onZoom(() => this.#zoom());
    env.shared.onCursor(() => this.#cursor());
    env.onRemake(() => this.#remake());
  }

  get el(): HTMLElement {
    return this.#frame.el;
  }

  /** Updates the data. Returns true if there is something to show. */
  update(page: Page): boolean {
    this.#page = page;
    this.#drawing = this.spec.draw(page);
    this.#frame.el.hidden = this.#drawing === null;
    if (this.#drawing) {
      this.#entries(this.#drawing);
      this.env.lazy.request(this);
    }
    return this.#drawing !== null;
  }

  /** Draws the current data. */
  draw(): void {
    const drawing = this.#drawing;
    if (!drawing || this.#frame.el.hidden) return;
    const shape = JSON.stringify([drawing.unit, drawing.log, drawing.lines.map((l) => [l.name, l.colour, l.style])]);
    if (this.#plot && shape === this.#shape) {
      this.#plot.setData(this.#data(drawing));
    } else {
      this.#shape = shape;
      this.#make(drawing);
    }
    this.#cursor();
  }

  #make(drawing: Drawing): void {
    this.#plot?.destroy();
    const { env, spec } = this;
    this.#plot = new uPlot(
      {
        width: this.#width(),
        height: this.#height(),
        padding: [spec.phases ? 22 : 10, 18, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => this.#back() },
          points: { size: 7 },
        },
        scales: scales(() => this.#drawing ?? drawing, env.shared),
        axes: axes(drawing, env.colours),
        series: [{}, ...drawing.lines.map((line) => lineSeries(line, env.colours, !this.#isHidden(line)))],
        hooks: {
          drawAxes: [(u) => this.#under(u)],
          setSelect: [(u) => this.#select(u)],
          setCursor: [(u) => this.#point(u)],
        },
      },
      this.#data(drawing),
      this.#frame.place,
    );
  }

  #data(drawing: Drawing): uPlot.AlignedData {
    const columns = drawing.lines.map((line) => line.drawn ?? line.column);
    return [this.env.shared.xs, ...columns] as [number[], ...Column[]];
  }

  /** Draws the marks below the lines. */
  #under(u: uPlot): void {
    const drawing = this.#drawing;
    if (!drawing) return;
    const { colours } = this.env;
    if (drawing.cells) cells(u, drawing.cells, colours);
    if (drawing.timeline) timeline(u, drawing.timeline, colours);
    if (drawing.shaded) shaded(u, drawing.shaded, colours);
    if (drawing.warmUp) shaded(u, [drawing.warmUp], colours, "grey");
    phases(u, this.#page?.summary.phases ?? [], this.spec.phases ?? false, colours);
    if (drawing.level) level(u, drawing.level.name, drawing.level.value, colours);
  }

  #entries(drawing: Drawing): void {
    const entries = drawing.lines.map((line): Entry => {
      const sample = line.style === "stack" ? "area" : line.style === "area" ? "area faint" : line.style;
      const toggle = line.style === "none" || line.style === "stack" ? null : () => this.#toggle(line);
      return { name: line.name, colour: line.colour, sample, shown: !this.#isHidden(line), toggle };
    });
    if (drawing.shaded && drawing.shaded.length > 0) {
      entries.push({ name: "generator late", colour: "orange", sample: "late", shown: true, toggle: null });
    }
    if (drawing.warmUp) {
      entries.push({ name: "warm-up", colour: "grey", sample: "late", shown: true, toggle: null });
    }
    this.#frame.legend.show(entries);
  }

  #isHidden(line: Line): boolean {
    return this.#hidden.get(line.name) ?? line.hidden ?? false;
  }

  #toggle(line: Line): void {
    this.#hidden.set(line.name, !this.#isHidden(line));
    const drawing = this.#drawing;
    if (!drawing) return;
    this.#entries(drawing);
    this.#plot?.setSeries(drawing.lines.findIndex((l) => l.name === line.name) + 1, { show: !this.#isHidden(line) });
    this.#cursor();
  }

  #select(u: uPlot): void {
    const { left, width } = u.select;
    if (width < 4) return;
    const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.env.shared.zooms((zoom) => zoom.to(from, to));
  }

  #back(): null {
    this.env.shared.zooms((zoom) => zoom.undo());
    return null;
  }

  #zoom(): void {
    const [min, max] = this.env.shared.zoom.range;
    this.#plot?.setScale("x", { min, max });
    this.#cursor();
  }

  /** Moves the shared cursor to the pointer. */
  #point(u: uPlot): void {
    if (!this.#frame.isPointedAt) return;
    const inside = (u.cursor.left ?? -1) >= 0;
    this.#pointer = inside && (u.cursor.top ?? -1) >= 0 ? u.posToVal(u.cursor.top ?? 0, "y") : null;
    const before = this.env.shared.cursor;
    this.env.shared.cursor = inside ? (u.cursor.idx ?? null) : null;
    if (before === this.env.shared.cursor) this.#speak();
  }

  #cursor(): void {
    const u = this.#plot;
    const { cursor, xs } = this.env.shared;
    if (u && !this.#frame.isPointedAt) {
      this.#pointer = null;
      const x = cursor === null ? undefined : xs[cursor];
      const left = x === undefined ? -10 : u.valToPos(x, "x");
      const inside = left >= 0 && left <= u.over.clientWidth;
      u.setCursor({ left: inside ? left : -10, top: inside ? u.over.clientHeight / 2 : -10 }, false);
    }
    this.#speak();
  }

  /** Updates the values in the legend. */
  #speak(): void {
    const { cursor, xs } = this.env.shared;
    const texts = (this.#drawing?.lines ?? []).map((line) => {
      if (cursor === null || this.#isHidden(line)) return "";
      if (line.say) return line.say(cursor, this.#pointer);
      const value = line.column[cursor] ?? null;
      return value === null ? "–" : say(this.#drawing?.unit ?? "number", value);
    });
    this.#frame.legend.say(texts);
    const x = cursor === null ? undefined : xs[cursor];
    this.#frame.moment.textContent = x === undefined ? "" : `at ${moment(x, 0.1)}`;
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!press(event.key, event.shiftKey && event.key.startsWith("Arrow"), this.env.shared)) return;
    event.preventDefault();
    this.env.announce(`${this.spec.title} ${this.#frame.moment.textContent}: ${this.#frame.legend.text()}`);
  }

  #height(): number {
    return this.spec.height ?? 230;
  }

  #width(): number {
    return this.env.paper ?? this.#frame.width;
  }

  #remake(): void {
    if (!this.#plot) return;
    this.#shape = "";
    this.env.lazy.request(this);
  }
}
