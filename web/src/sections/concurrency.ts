// Concurrency: requests compared with Little's law, users, connections and their cost; then latency
// and throughput by load.

import type { Env } from "../charts/env";
import { PlaneChart } from "../charts/plane_chart";
import { TimeChart } from "../charts/time_chart";
import { concurrency as drawConcurrency } from "../data/levels";
import { offered, saturation } from "../data/planes";
import { connections } from "../data/rates";
import { type Child, h } from "../dom/el";
import { facts, table } from "../dom/table";
import { figure, NONE, timeOr } from "../text/figures";
import { count, decimal, share } from "../text/units";
import type { Page, Stats } from "../types";
import { markOf, type Section, section } from "./section";

export function concurrency(env: Env): Section {
  const charts = [
    new TimeChart(env, { id: "concurrency", title: "In flight", draw: drawConcurrency, phases: true }),
    new TimeChart(env, { id: "connections", title: "Connections", draw: connections, height: 190 }),
  ];
  return section("concurrency", "Concurrency", (page) => ({ above: [levels(page)], below: [costs(page)] }), charts);
}

export function offeredLoad(env: Env): Section {
  const pair = [
    new PlaneChart(env, {
      id: "offered",
      title: "Latency against offered load",
      note: "One dot per point in time: p95 by requests sent per second.",
      draw: offered,
    }),
    new PlaneChart(env, {
      id: "saturation",
      title: "Throughput against concurrency",
      note: "One dot per point in time: responses per second by requests in flight.",
      draw: saturation,
    }),
  ];
  return section("load", "Against offered load", () => ({}), [pair]);
}

function levels(page: Page): Child {
  const { in_flight, users, connections_opened: opened, requests, all, measurement } = page.summary;
  if (all.count === 0 && requests.issued === 0) return null;
  const items: [string, Child][] = [
    [
      "requests in flight",
      `${short(in_flight.mean)} mean, ${count(in_flight.max)} max${markOf(page, "/in_flight/max")}`,
    ],
    ["virtual users", `${short(users.mean)} mean, ${count(users.max)} max`],
    ["connections opened", count(opened)],
  ];
  if (requests.issued > 0 && opened > 0) {
    items.push(["connections reused", `${share(Math.max(0, 1 - opened / requests.issued))} of requests`]);
  }
  if (measurement && measurement.littles_law !== null) {
    items.push(["Little's law", `within ${share(Math.abs(measurement.littles_law))}`]);
  }
  return facts(items, "facts wide");
}

function costs(page: Page): Child {
  const { wait, connect, tls } = page.summary;
  const all: [string, Stats | null][] = [
    ["wait for a connection", wait],
    ["TCP connect", connect],
    ["TLS handshake", tls],
  ];
  const rows = all
    .filter((entry): entry is [string, Stats] => entry[1] !== null && entry[1].count > 0)
    .map(([name, s]): Child[] => [
      name,
      count(s.count),
      timeOr(s.mean_ns),
      figure(s.p50),
      figure(s.p95),
      figure(s.p99),
      figure(s.max),
    ]);
  if (rows.length === 0) return null;
  const columns = ["", "samples", "mean", "p50", "p95", "p99", "max"].map((name, i) => ({ name, number: i > 0 }));
  return h("div", {}, h("h3", {}, "Before the first byte"), table("Durations before the first byte", columns, rows));
}

function short(value: number): string {
  return Number.isFinite(value) ? decimal(Number(value.toPrecision(3))) : NONE;
}
