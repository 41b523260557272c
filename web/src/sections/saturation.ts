// The first bottleneck: resources that reached their limits, in order.

import { h } from "../dom/el";
import { prose } from "../dom/prose";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { duration, rate } from "../text/units";
import type { Page, Reached } from "../types";
import { type Section, section } from "./section";

const COLUMNS = [
  { name: "Resource" },
  { name: "Limit" },
  { name: "Instances" },
  { name: "Reached at", number: true },
  { name: "Held", number: true },
  { name: "Requests/s at that time", number: true },
  { name: "Cause" },
];

export function saturation(): Section {
  return section("saturation", "What saturated first", (page: Page) => {
    // Records of older versions have no such section.
    const found = page.summary.saturation ?? null;
    if (found === null) return { above: [] };
    const sentence = h("p", {}, ...prose(found.sentence));
    if (found.reached.length === 0) return { above: [sentence] };
    return { above: [sentence, table("What saturated first", COLUMNS, found.reached.map(row))] };
  });
}

function row(one: Reached): string[] {
  return [
    `${one.resource} (${one.source})`,
    one.limit,
    `${one.instances} of ${one.all_instances}`,
    seconds(one.at_ns),
    seconds(one.held_ns),
    one.issued_per_second === null ? NONE : rate(one.issued_per_second),
    one.cause ?? NONE,
  ];
}

/** Rounded to the sampling interval. */
function seconds(ns: number): string {
  return duration(Math.round(ns / 1e9) * 1e9);
}
