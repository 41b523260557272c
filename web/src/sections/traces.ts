// Traced requests: the slowest of each endpoint, with links to their traces.

import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, duration, time } from "../text/units";
import type { Page, SlowRequest } from "../types";
import { muted, type Section, section } from "./section";

const OF_LABEL = 5;
const IN_ALL = 100;

const COLUMNS = [
  { name: "Request" },
  { name: "Response", number: true, title: "From the intended start to the last byte of the response" },
  { name: "Service", number: true, title: "From the first byte written to the last byte of the response" },
  { name: "At", number: true, title: "Intended start, from the start of the run" },
  { name: "Outcome" },
  { name: "Trace" },
];

export function traces(): Section {
  return section("traces", "Traced requests", (page: Page) => {
    const one = page.summary.traces;
    if (!one) return {};
    const shown = chosen(one.slowest);
    const hidden = one.slowest.length - shown.length;
    const more = hidden > 0 ? [muted(`${count(hidden)} more are in summary.json.`)] : [];
    const rows = shown.length > 0 ? [table("Slowest traced requests", COLUMNS, shown.map(cells))] : [];
    return { above: [muted(one.sentence), ...rows, ...more] };
  });
}

/** The slowest of every endpoint, then the second slowest, up to a limit; sorted by response time. */
export function chosen(slowest: SlowRequest[]): SlowRequest[] {
  const ranks = new Map<number, number>();
  const ranked = slowest.map((one) => {
    const rank = ranks.get(one.label) ?? 0;
    ranks.set(one.label, rank + 1);
    return { rank, one };
  });
  return ranked
    .filter(({ rank }) => rank < OF_LABEL)
    .sort((a, b) => a.rank - b.rank || b.one.response_ns - a.one.response_ns)
    .slice(0, IN_ALL)
    .map(({ one }) => one)
    .sort((a, b) => b.response_ns - a.response_ns);
}

function cells(one: SlowRequest): Child[] {
  const id = h("code", {}, one.trace_id);
  // Other schemes could run code.
  const isLink = one.url !== undefined && /^https?:\/\//.test(one.url);
  return [
    one.text,
    time(one.response_ns),
    one.service_ns === null ? NONE : time(one.service_ns),
    duration(one.intended_ns),
    one.reason ?? (one.status === null ? NONE : String(one.status)),
    isLink ? h("a", { href: one.url, rel: "noopener noreferrer" }, id) : id,
  ];
}
