// Plan and result: table of phases, both ledgers as equations, and charts of planned, sent and
// completed requests.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { arrivals, requests } from "../data/rates";
import { type Child, h } from "../dom/el";
import { balance } from "../dom/status";
import { type Column, table } from "../dom/table";
import { figure, headline, NONE } from "../text/figures";
import { count, duration, rate, share, time } from "../text/units";
import type { Arrivals, Page, PhaseRow, Requests, ScenarioRow, WorkloadRow } from "../types";
import { muted, type Section, section } from "./section";

export function plan(env: Env): Section {
  const charts = [
    new TimeChart(env, { id: "arrivals", title: "Arrivals per second", draw: arrivals, phases: true }),
    new TimeChart(env, { id: "requests", title: "Requests per second", draw: requests, phases: true }),
  ];
  return section(
    "plan",
    "Planned and achieved",
    (page) => ({ above: [phases(page), workloads(page), scenarios(page), ledgers(page)] }),
    charts,
  );
}

function phases(page: Page): Child {
  const { phases, run } = page.summary;
  if (phases.length === 0) return null;
  const open = phases.some((phase) => phase.planned !== null);
  const kind = headline(page.summary);
  const columns: (Column & { cell: (phase: PhaseRow) => Child })[] = [
    {
      name: "phase",
      cell: (p) =>
        h("span", {}, p.name, p.text && p.text !== p.name ? h("span", { class: "muted sub" }, p.text) : null),
    },
    { name: "length", number: true, cell: (p) => duration(p.end_ns - p.start_ns) },
  ];
  if (open) {
    columns.push(
      { name: "planned", number: true, title: "arrivals planned", cell: (p) => orNone(p.planned) },
      { name: "started", number: true, title: "arrivals started", cell: (p) => orNone(p.started) },
      {
        name: "started of plan",
        number: true,
        cell: (p) => (p.planned && p.started !== null ? share(p.started / p.planned) : NONE),
      },
    );
  }
  columns.push(
    { name: "requests", number: true, cell: (p) => count(p.requests) },
    { name: "req/s", number: true, cell: (p) => rate(p.per_second) },
    { name: "errors", number: true, cell: (p) => errors(p.errors) },
    { name: `${kind} p95`, number: true, cell: (p) => figure(p.p95) },
    { name: `${kind} p99`, number: true, cell: (p) => figure(p.p99) },
  );
  const rows = phases.map((phase) => columns.map(({ cell }) => cell(phase)));
  const users =
    run.model === "closed"
      ? muted("Closed loop: a user sends the next request after the previous one has ended, so no rate is planned.")
      : null;
  return h("div", {}, table("Phases: planned and achieved", columns, rows), users);
}

/** Plan and result of each workload, if the plan has several loads. */
function workloads(page: Page): Child {
  const { workloads = [] } = page.summary;
  if (workloads.length === 0) return null;
  const columns: (Column & { cell: (row: WorkloadRow) => Child })[] = [
    { name: "workload", cell: (w) => h("span", {}, w.name, h("span", { class: "muted sub" }, w.text)) },
    { name: "model", cell: (w) => (w.model === "closed" ? "closed loop" : "open") },
    { name: "from", number: true, cell: (w) => duration(w.start_ns) },
    { name: "to", number: true, cell: (w) => duration(w.end_ns) },
    { name: "planned", number: true, title: "arrivals planned", cell: (w) => orNone(w.planned) },
    { name: "users", number: true, title: "largest number of users", cell: (w) => orNone(w.users) },
    { name: "ended", number: true, title: "iterations that ended, with any result", cell: (w) => count(w.ended) },
    { name: "completed", number: true, title: "iterations that completed", cell: (w) => count(w.completed) },
    { name: "failed", number: true, cell: (w) => errors(w.failed) },
  ];
  const rows = workloads.map((row) => columns.map(({ cell }) => cell(row)));
  const note = workloads.some((row) => row.model === "closed")
    ? muted("Closed loop: a user starts the next iteration after the previous one has ended, so no rate is planned.")
    : null;
  return h("div", {}, table("Workloads: planned and achieved", columns, rows), note);
}

function scenarios(page: Page): Child {
  const { scenarios, run } = page.summary;
  if (scenarios.length === 0) return null;
  const lengths = `average over ${time(run.elapsed_ns)}, from the start to the last completion or the end of the load`;
  const columns: (Column & { cell: (row: ScenarioRow) => Child })[] = [{ name: "scenario", cell: (s) => s.name }];
  if (scenarios.some((row) => row.workload !== undefined)) {
    columns.push({ name: "workload", cell: (s) => s.workload ?? NONE });
  }
  if (scenarios.some((row) => row.planned !== null)) {
    columns.push(
      { name: "planned", number: true, title: "arrivals planned", cell: (s) => orNone(s.planned) },
      { name: "planned/h", number: true, cell: (s) => rateOrNone(s.planned_per_hour) },
      { name: "planned/s", number: true, cell: (s) => rateOrNone(s.planned_per_second) },
    );
  }
  columns.push(
    { name: "ended", number: true, title: "iterations that ended, with any result", cell: (s) => count(s.ended) },
    { name: "completed", number: true, title: "iterations that completed", cell: (s) => count(s.completed) },
    { name: "completed/h", number: true, title: lengths, cell: (s) => rate(s.completed_per_hour) },
    { name: "completed/s", number: true, title: lengths, cell: (s) => rate(s.completed_per_second) },
  );
  if (scenarios.some((row) => row.of_plan !== null)) {
    columns.push({
      name: "completed of plan",
      number: true,
      title: "completed by planned",
      cell: (s) => (s.of_plan === null ? NONE : share(s.of_plan)),
    });
  }
  columns.push(
    { name: "failed", number: true, cell: (s) => errors(s.failed) },
    { name: "in flight at the end", number: true, cell: (s) => (s.unfinished === null ? NONE : errors(s.unfinished)) },
  );
  const rows = scenarios.map((row) => columns.map(({ cell }) => cell(row)));
  return table("Scenarios: planned and achieved", columns, rows);
}

function ledgers(page: Page): Child {
  const { arrivals, requests, run } = page.summary;
  const closed =
    run.model === "mixed"
      ? muted("Arrivals are those of open workloads. Iterations of closed loops are not arrivals.")
      : null;
  // Other tools may count requests without their results, or not at all.
  const counted = Number.isNaN(requests.ok) ? null : requestLedger(requests);
  return h("div", { class: "ledgers" }, arrivals ? arrivalLedger(arrivals, run.state) : null, counted, closed);
}

function arrivalLedger(a: Arrivals, state: Page["summary"]["run"]["state"]): HTMLElement {
  // A killed run has only counted arrivals so far, like a running one.
  const due = state === "running" ? "due until now" : "due until the stop";
  const planned: Term[] = [
    ["started", a.started],
    ["skipped", a.skipped],
    ["unsent", a.unsent],
  ];
  if ((a.unknown ?? 0) > 0) planned.push(["unknown", a.unknown ?? 0]);
  const started: Term[] = [
    ["completed", a.completed],
    ["failed", a.failed],
    ["abandoned", a.abandoned],
  ];
  if (a.in_flight > 0) started.push(["in flight", a.in_flight]);
  return h(
    "div",
    { class: "ledger" },
    h("h3", {}, "Arrivals ", balance(a.adds_up)),
    a.planned === null ? null : equation([a.until_stop ? due : "planned", a.planned], planned),
    equation(["started", a.started], started),
    (a.exited ?? 0) > 0 ? muted(`${count(a.exited ?? 0)} of the completed iterations exited early, as planned.`) : null,
  );
}

function requestLedger(r: Requests): HTMLElement {
  const issued: Term[] = [
    ["ok", r.ok],
    ["failed", r.failed],
    ["no answer", r.none],
  ];
  if (r.in_flight > 0) issued.push(["in flight", r.in_flight]);
  const classes = Object.entries(r.none_by_class).map(([name, n]): Term => [name, n]);
  return h(
    "div",
    { class: "ledger" },
    h("h3", {}, "Requests ", balance(r.adds_up)),
    equation(["issued", r.issued], issued),
    classes.length > 0 ? equation(["no answer", r.none], classes) : null,
    r.redirects > 0 ? muted(`In addition, ${count(r.redirects)} redirects were followed.`) : null,
  );
}

type Term = [string, number | null];

/** `12,000 planned = 11,990 started + 0 skipped + 10 unsent`. */
function equation(whole: Term, parts: Term[]): HTMLElement {
  const term = ([name, n]: Term) => h("span", { class: "term" }, h("b", {}, orNone(n)), ` ${name}`);
  const sum = parts.flatMap((part, i) => [i === 0 ? " = " : " + ", term(part)]);
  return h("p", { class: "equation" }, term(whole), ...sum);
}

function errors(n: number): Child {
  return n > 0 ? h("span", { class: "bad-text" }, count(n)) : "0";
}

function rateOrNone(n: number | null): string {
  return n === null ? NONE : rate(n);
}

function orNone(n: number | null): string {
  return n === null ? NONE : count(n);
}
