// The icons of the page as SVG, independent of fonts. An icon always accompanies a word.

import { svg } from "./el";

const PATHS = {
  good: "M4 8.5l2.7 2.7L12 5.5",
  bad: "M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4",
  unsure: "M5.7 6.2c0-3 4.6-2.9 4.6-.1 0 1.8-2.3 1.9-2.3 3.5M8 11.9v.1",
  warn: "M8 3.8v5M8 11.9v.1",
  none: "M4.5 8h7",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon in a disc of the text's colour. */
export function icon(name: IconName): SVGElement {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    svg("circle", { cx: 8, cy: 8, r: 8, fill: "currentColor" }),
    svg("path", { d: PATHS[name], class: "icon-sign" }),
  );
}

/** The logo: a disc and a load line. */
export function mark(): SVGElement {
  return svg(
    "svg",
    { class: "mark", viewBox: "0 0 32 24", "aria-hidden": "true", focusable: "false" },
    svg("circle", { cx: 16, cy: 12, r: 9, fill: "none", stroke: "currentColor", "stroke-width": 2.5 }),
    svg("path", { d: "M2 12h28", stroke: "currentColor", "stroke-width": 2.5 }),
  );
}
