// What stands around a chart: its title, what the cursor is at, how to read it, the legend, and the place for the plot, which takes
// the keyboard. What is drawn there is the chart's own affair.

import type uPlot from "uplot";
import { h } from "../dom/el";
import { Legend } from "./legend";

export interface Titled {
  id: string;
  title: string;
  /** A line under the title: how to read it. */
  note?: string;
}

export interface Handlers {
  key: (event: KeyboardEvent) => void;
  /** The pointer left. */
  leave: () => void;
  /** The place may have another width. */
  resize: () => void;
}

export class Frame {
  readonly el: HTMLElement;
  readonly place: HTMLElement;
  readonly legend = new Legend();
  /** What the cursor is at. */
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

  /** The width that there is for the plot. */
  get width(): number {
    return Math.max(this.place.clientWidth, 120);
  }

  /** Whether the pointer is on the plot: uPlot also calls when it is drawn anew. */
  get isPointedAt(): boolean {
    return this.place.matches(":hover");
  }

  /** Gives a plot the width that it should have, if it is to be seen. */
  fit(plot: uPlot | null, width: number, height: number): void {
    if (plot && this.place.clientWidth > 0 && width !== plot.width) plot.setSize({ width, height });
  }
}
