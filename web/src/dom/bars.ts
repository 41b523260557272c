// Small bars inside tables, next to the figure that they show.

import { h, svg } from "./el";

/** A margin between −100 % and +100 %, to the left or right of the bound. */
export function fullMargin(margin: number): HTMLElement {
  const length = Math.min(Math.abs(margin), 1) * 48;
  const bar = svg("rect", {
    class: margin < 0 ? "bar-bad" : "bar-good",
    x: margin < 0 ? 50 - length : 50,
    y: 3,
    width: Math.max(length, 1),
    height: 8,
  });
  const bound = svg("path", { class: "bar-bound", d: "M50 0v14" });
  const picture = svg(
    "svg",
    { class: "margin", viewBox: "0 0 100 14", "aria-hidden": "true", focusable: "false" },
    bar,
    bound,
  );
  return h("span", {}, picture);
}
