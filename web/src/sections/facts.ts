// A section that only names figures.

import { facts } from "../dom/table";
import type { Summary } from "../types";
import { type Section, section } from "./section";

/** Creates a section with the figures that have a text, or none if `items` returns nothing. */
export function factsSection(id: string, title: string, items: (summary: Summary) => [string, string][]): Section {
  return section(id, title, (page) => {
    const known = items(page.summary).filter(([, text]) => text !== "");
    return known.length > 0 ? { above: [facts(known, "facts wide")] } : {};
  });
}
