// The report's conclusions with their figures, its assumptions, and other notes.

import { type Child, h } from "../dom/el";
import type { IconName } from "../dom/icons";
import { prose } from "../dom/prose";
import { badge, type Tone } from "../dom/status";
import { chip, says } from "../text/paths";
import type { Conclusion, Page } from "../types";
import { type Section, section } from "./section";

/** Style of good, bad and neutral conclusions. */
export const TONES: Record<Conclusion["tone"], [Tone, IconName]> = {
  good: ["good", "good"],
  neutral: ["neutral", "none"],
  bad: ["bad", "bad"],
};

export function conclusions(): Section {
  return section("conclusions", "Conclusions", (page) => ({
    above: [sentences(page), list("Assumptions", page.summary.assumptions), list("Notes", page.summary.notes)],
  }));
}

function sentences(page: Page): Child {
  const { conclusions } = page.summary;
  if (conclusions.length === 0) return null;
  return h("ul", { class: "conclusions" }, ...conclusions.map((conclusion) => item(page, conclusion)));
}

function item(page: Page, conclusion: Conclusion): HTMLElement {
  const chips = conclusion.figures
    .map((path) => chip(page.summary, path))
    // Figures already in the sentence are not repeated.
    .filter((found) => found !== null)
    .filter((found) => !says(conclusion.text, found.value))
    .map(({ name, value }) => h("span", { class: "chip" }, `${name} `, h("b", {}, value)));
  const [tone, icon] = TONES[conclusion.tone] ?? TONES.neutral;
  return h(
    "li",
    {},
    badge(conclusion.kind, tone, icon),
    h("div", {}, h("p", {}, ...prose(conclusion.text)), chips.length > 0 ? h("p", { class: "chips" }, ...chips) : null),
  );
}

function list(title: string, texts: string[]): Child {
  if (texts.length === 0) return null;
  return h(
    "div",
    {},
    h("h3", {}, title),
    h("ul", { class: "plain" }, ...texts.map((text) => h("li", {}, ...prose(text)))),
  );
}
