// Plain tables in a frame that scrolls sideways where they are too wide. Sorting is the endpoint table's own affair.

import { type Child, h } from "./el";

export interface Column {
  name: string;
  /** Numbers stand to the right. */
  number?: boolean;
  /** What the heading means, for those who ask. */
  title?: string;
}

/** A table with a heading row; `name` is what a screen reader calls it. */
export function table(name: string, columns: Column[], rows: Child[][], kind = ""): HTMLElement {
  const head = columns.map((c) => h("th", { scope: "col", class: c.number && "number", title: c.title }, c.name));
  const body = rows.map((cells) =>
    h(
      "tr",
      {},
      ...cells.map((cell, i) =>
        i === 0
          ? h("th", { scope: "row", class: columns[i]?.number && "number" }, cell)
          : h("td", { class: columns[i]?.number && "number" }, cell),
      ),
    ),
  );
  return scroller(name, h("table", { class: kind }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)));
}

/** A frame for what may be too wide; it takes the focus, so that keys can scroll it. */
export function scroller(name: string, content: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, content);
}

/** Names with values, as a list of definitions. */
export function facts(items: [string, Child][], kind = "facts"): HTMLElement {
  return h("dl", { class: kind }, ...items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
