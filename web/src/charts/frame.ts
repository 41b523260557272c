// The frame of a chart: title, time at the cursor, note, legend, and a container for the plot that
// handles keys.

import type uPlot from "uplot";
import { h } from "../dom/el";
import { Legend } from "./legend";

export interface Titled {
  id: string;
  title: string;
  /** A line below the title that explains how to read the chart. */
  note?: string;
}

export interface Handlers {
  key: (event: KeyboardEvent) => void;
  /** The pointer left. */
  leave: () => void;
  /** The container may have changed its width. */
  resize: () => void;
}

export class Frame {
  readonly el: HTMLElement;
  readonly place: HTMLElement;
  readonly legend = new Legend();
  /** The time or value at the cursor. */
  readonly moment = h("span", { class: "moment" });

  constructor(spec: Titled, help: string, height: number, on: Handlers) {
    this.place = h("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": `${spec.title}. ${help}`,
      onkeydown: (event) => on.key(event as KeyboardEvent),
      onmouseleave: () => on.leave(),
    });
    this.place.style.height = `${height}px`;
    const caption = h("figcaption", {}, h("h3", {}, spec.title), this.moment);
    const note = spec.note ? h("p", { class: "muted note" }, spec.note) : null;
    this.el = h(
      "figure",
      { class: "chart", "data-chart": spec.id, hidden: true },
      caption,
      note,
      this.legend.el,
      this.place,
    );
    new ResizeObserver(() => on.resize()).observe(this.place);
  }

  /** The available width of the plot. */
  get width(): number {
    return Math.max(this.place.clientWidth, 120);
  }

  /** Whether the pointer is on the plot. uPlot also reports pointers while redrawing. */
  get isPointedAt(): boolean {
    return this.place.matches(":hover");
  }

  /** Resizes a visible plot to the given width. */
  fit(plot: uPlot | null, width: number, height: number): void {
    if (plot && this.place.clientWidth > 0 && width !== plot.width) plot.setSize({ width, height });
  }
}
