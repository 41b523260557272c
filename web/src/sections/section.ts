// The frame of a section: heading, content, and whether there is any. page.ts orders sections.

import { type Child, fill, h } from "../dom/el";
import type { Page } from "../types";

export interface Section {
  readonly id: string;
  /** Title in the table of contents. */
  readonly title: string;
  readonly el: HTMLElement;
  /** Shows a page. The section hides itself without content. */
  update(page: Page): void;
}

/** A chart or other part of a section. Returns true if it has something to show. */
export interface Part {
  readonly el: HTMLElement;
  update(page: Page): boolean;
}

/** Creates a section. Texts and tables above and below are recreated for each page; charts stay. */
export function section(
  id: string,
  title: string,
  write: (page: Page) => { above?: Child[]; below?: Child[] },
  parts: (Part | Part[])[] = [],
): Section {
  const above = h("div", { class: "body" });
  const below = h("div", { class: "body" });
  const frames = parts.map((part) =>
    Array.isArray(part) ? h("div", { class: "pair" }, ...part.map((p) => p.el)) : part.el,
  );
  const heading = h("h2", { id: `${id}-title` }, title);
  const el = h("section", { id, "aria-labelledby": `${id}-title` }, heading, above, ...frames, below);
  return {
    id,
    title,
    el,
    update(page) {
      const text = write(page);
      fill(above, ...(text.above ?? []));
      fill(below, ...(text.below ?? []));
      const shown = parts.flat().map((part) => part.update(page));
      el.hidden = above.childNodes.length === 0 && below.childNodes.length === 0 && !shown.includes(true);
    },
  };
}

/** A muted sentence. */
export function muted(text: string): HTMLElement {
  return h("p", { class: "muted" }, text);
}

/** The mark of a figure outside of rows that a criterion judges, with its meaning. */
export function markOf(page: Page, path: string): string {
  return page.summary.criteria.some((judged) => judged.figure === path) ? " * (judged by a criterion)" : "";
}
