// The nodes of a distributed run; during the run, their newest interval.

import { type Child } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, rate, share, time } from "../text/units";
import type { NodeRow, Page } from "../types";
import { muted, type Section, section } from "./section";

const COLUMNS = [
  { name: "Node", number: true },
  { name: "Machine" },
  { name: "State" },
  { name: "Requests", number: true },
  { name: "Requests/s", number: true },
  { name: "CPU", number: true, title: "The busiest worker, as a share of a core" },
  { name: "Lateness p99", number: true, title: "Measured by the clock of the node" },
  { name: "Response p99", number: true },
  { name: "Clock", number: true, title: "Possible offset from the other nodes' clocks" },
];
const MEANING =
  "CPU: the busiest worker, as a share of a core. Lateness is measured by the clock of each node. " +
  "Clock: possible offset from the other nodes' clocks.";

export function nodes(): Section {
  return section("nodes", "Nodes", (page: Page) => {
    const rows = page.summary.nodes ?? [];
    if (rows.length === 0) return {};
    return { above: [table("Nodes", COLUMNS, rows.map(row)), muted(MEANING)] };
  });
}

function row(one: NodeRow): Child[] {
  return [
    String(one.node),
    one.name,
    one.state,
    count(one.requests),
    rate(one.rate),
    share(one.cpu),
    one.lateness_p99_ns === null ? NONE : time(one.lateness_p99_ns),
    one.response_p99_ns === null ? NONE : time(one.response_p99_ns),
    `±${time(one.offset_error_ns)}`,
  ];
}
