// Printing: the page is light and as wide as A4, and every chart is drawn.

import type { Env } from "./charts/env";

/** The width of A4 in CSS pixels, without margins of 12 mm. */
const WIDTH = 700;

/** Prepares the page for printing, and for the screen afterwards. */
export function paper(env: Env, remake: () => void): void {
  const change = (print: boolean) => {
    if (print === (env.paper !== null)) return;
    env.paper = print ? WIDTH : null;
    document.documentElement.toggleAttribute("data-paper", print);
    remake();
    env.lazy.all();
  };
  addEventListener("beforeprint", () => change(true));
  addEventListener("afterprint", () => change(false));
  matchMedia("print").addEventListener("change", (event) => change(event.matches));
}
