// Plain tables in a frame that scrolls sideways if necessary. Sorting is in the endpoint table.

import { type Child, h } from "./el";

export interface Column {
  name: string;
  /** Numbers are right-aligned. */
  number?: boolean;
  /** Explanation of the heading, as a tooltip. */
  title?: string;
}

/** Creates a table with a heading row; `name` is for screen readers. */
export function table(name: string, columns: Column[], rows: Child[][], kind = ""): HTMLElement {
  const head = columns.map((c) => {
    const attributes = { class: c.number && "number", title: c.title };
    // A header cell without text has no name for a screen reader.
    return c.name === "" ? h("td", attributes) : h("th", { scope: "col", ...attributes }, c.name);
  });
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

/** A scrollable frame that takes the focus, so that keys can scroll it. */
export function scroller(name: string, content: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${name}` }, content);
}

/** Names with values, as a definition list. */
export function facts(items: [string, Child][], kind = "facts"): HTMLElement {
  return h("dl", { class: kind }, ...items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
