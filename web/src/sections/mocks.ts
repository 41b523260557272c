// Mocks: configured and served times of every route that was called.

import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, rate, share, time } from "../text/units";
import type { MockRow, Page } from "../types";
import { muted, type Section, section } from "./section";

const TIMES = ["mean", "p50", "p95", "p99"];
const COLUMNS = [
  { name: "Mock" },
  { name: "Route" },
  { name: "Requests", number: true },
  { name: "Answers" },
  ...TIMES.map((name) => ({ name, number: true, title: "requested / served" })),
  { name: "Off by", number: true, title: "Largest difference between served and computed times" },
  { name: "Utilisation", number: true },
];
const MEANING =
  "Times are requested / served; for a queue, computed from its arrivals / served. Off by: largest difference between the served times and those " +
  "computed for each request, including faults and queues. – : fewer than ten responses are beyond the percentile, or there is no capacity.";

export function mocks(): Section {
  return section("mocks", "Mocks", (page: Page) => {
    const rows = page.summary.mocks ?? [];
    if (rows.length === 0) return {};
    return { above: [table("Mocks", COLUMNS, rows.map(row)), muted([MEANING, lateness(rows)].join(" "))] };
  });
}

function row(one: MockRow): Child[] {
  const { capacity } = one;
  return [
    one.mock,
    one.from ? h("span", {}, one.route, h("br"), h("span", { class: "muted" }, `as ${one.from}`)) : one.route,
    count(one.received),
    answers(one),
    ...TIMES.map((what) => {
      const kept = one.times.find((time) => time.statistic === what);
      return kept ? `${time(kept.planned_ns ?? kept.due_ns)} / ${time(kept.served_ns)}` : NONE;
    }),
    one.difference === null ? NONE : off(one.difference),
    capacity ? `${share(capacity.utilisation)} of ${rate(capacity.per_second)}/s` : NONE,
  ];
}

function answers(one: MockRow): string {
  const codes = Object.entries(one.codes).map(([code, n]) => `${code} × ${count(n)}`);
  if (one.resets > 0) codes.push(`${count(one.resets)} reset`);
  if (one.silent > 0) codes.push(`${count(one.silent)} never answered`);
  return codes.join(", ") || NONE;
}

function off(value: number): string {
  const size = share(Math.abs(value));
  if (value === 0) return size;
  return value > 0 ? `+${size}` : `−${size}`;
}

/** Lateness of each mock's responses. */
function lateness(rows: MockRow[]): string {
  const late = new Map(rows.map((one) => [one.mock, one.late_p99_ns]));
  const parts = [...late].flatMap(([mock, ns]) => (ns === null ? [] : [`${mock} ${time(ns)}`]));
  return parts.length > 0 ? `99 % of the responses were at most this late: ${parts.join(", ")}.` : "";
}
