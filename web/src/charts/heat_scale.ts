// The legend of the heat map: colours and their counts.

import { heat } from "../data/latency";
import { fill, h } from "../dom/el";
import { count } from "../text/units";
import type { Page } from "../types";
import type { Env } from "./env";

export class HeatScale {
  readonly el = h("p", { class: "heat-scale muted" });
  #most = 0;

  constructor(private readonly env: Env) {
    env.onRemake(() => this.#show());
  }

  update(page: Page): boolean {
    this.#most = heat(page)?.cells?.most ?? 0;
    this.el.hidden = this.#most === 0;
    if (this.#most > 0) this.#show();
    return false;
  }

  #show(): void {
    const ramp = h("span", { class: "ramp", "aria-hidden": "true" });
    ramp.style.background = `linear-gradient(to right, ${this.env.colours.heatSteps().join(", ")})`;
    fill(this.el, "1 response", ramp, `${count(this.#most)} responses in a cell (logarithmic)`);
  }
}
