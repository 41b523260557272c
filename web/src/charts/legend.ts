// The legend of a chart: a button per line that shows and hides it, and the line's value at the
// cursor.

import { fill, h } from "../dom/el";
import type { Colour } from "./drawing";

export interface Entry {
  name: string;
  colour: Colour | "";
  /** Style of the sample next to the name. */
  sample: "line" | "dotted" | "area" | "area faint" | "dot" | "late" | "none";
  shown: boolean;
  /** Null means that the line cannot be hidden. */
  toggle: (() => void) | null;
}

export class Legend {
  readonly el = h("ul", { class: "legend" });
  #values: HTMLElement[] = [];
  #names: string[] = [];
  #key = "";

  show(entries: Entry[]): void {
    const key = JSON.stringify(entries);
    if (key === this.#key) return;
    this.#key = key;
    this.#names = entries.map((entry) => entry.name);
    this.#values = entries.map(() => h("span", { class: "value" }));
    fill(this.el, ...entries.map((entry, i) => item(entry, this.#values[i] ?? null)));
  }

  /** Returns all entries in one sentence. */
  text(): string {
    return this.#names
      .map((name, i) => [name, this.#values[i]?.textContent ?? ""])
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name} ${value}`)
      .join(", ");
  }

  /** Sets the values at the cursor; empty without a pointer. */
  say(texts: string[]): void {
    this.#values.forEach((value, i) => {
      const text = texts[i] ?? "";
      if (value.textContent !== text) value.textContent = text;
    });
  }
}

function item(entry: Entry, value: HTMLElement | null): HTMLElement {
  const sample = entry.sample === "none" ? null : h("span", { class: `sample ${entry.sample}`, "aria-hidden": "true" });
  if (entry.colour) sample?.style.setProperty("--sample", `var(--${entry.colour})`);
  const { toggle } = entry;
  const name = toggle
    ? h(
        "button",
        { type: "button", "aria-pressed": String(entry.shown), "data-key": entry.name, onclick: toggle },
        sample,
        entry.name,
      )
    : h("span", { class: "name" }, sample, entry.name);
  return h("li", {}, name, value);
}
