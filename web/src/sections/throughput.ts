// Results of requests: responses by class over time, bytes, and every error by cause.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { errors as drawErrors, throughput as drawThroughput, traffic } from "../data/rates";
import { type Child, h } from "../dom/el";
import { badge } from "../dom/status";
import { type Column, table } from "../dom/table";
import { NONE } from "../text/figures";
import { count, duration, share } from "../text/units";
import type { ErrorRow, Page } from "../types";
import { muted, type Section, section } from "./section";

const COLUMNS: Column[] = [
  { name: "cause" },
  { name: "count", number: true },
  { name: "of requests", number: true },
  { name: "where" },
  { name: "first seen", number: true },
  { name: "last seen", number: true, title: "the end of the last second in which the error occurred" },
  { name: "first sample" },
];

export function throughput(env: Env): Section {
  const charts = [
    new TimeChart(env, {
      id: "throughput",
      title: "Finished requests per second, by outcome",
      draw: drawThroughput,
      height: 250,
      phases: true,
    }),
    new TimeChart(env, { id: "errors", title: "Errors per second, by class", draw: drawErrors, height: 190 }),
    new TimeChart(env, { id: "traffic", title: "Bytes on the wire", draw: traffic, height: 180 }),
  ];
  return section("throughput", "Throughput and errors", (page) => ({ below: [errors(page)] }), charts);
}

function errors(page: Page): Child {
  const { errors, all } = page.summary;
  if (errors.length === 0 && all.errors > 0) return muted(`${count(all.errors)} requests failed for unknown reasons.`);
  // Nothing is shown that another tool did not count.
  if (errors.length === 0 && !(all.count > 0 && all.errors === 0)) return null;
  if (errors.length === 0) return muted("No errors: every request received the expected response.");
  const names = new Map([...page.summary.labels, ...page.summary.iterations].map((row) => [row.id, row.text]));
  const rows = errors.map((error) => row(error, names, page.summary.requests.issued));
  return h("div", {}, h("h3", {}, "Errors by cause"), table("Errors by cause", COLUMNS, rows, "errors"));
}

function row(error: ErrorRow, names: Map<number, string>, issued: number): Child[] {
  const moment = (ns: number | null | undefined) =>
    ns === null || ns === undefined ? NONE : duration(Math.round(ns / 1e8) * 1e8);
  const kind =
    error.class === "failed"
      ? "wrong answer"
      : error.class === error.reason
        ? "no answer"
        : `no answer: ${error.class}`;
  return [
    h(
      "span",
      {},
      h("b", {}, error.reason),
      h(
        "span",
        { class: "sub" },
        badge(kind, error.class === "failed" ? "warn" : "bad", error.class === "failed" ? "warn" : "bad"),
      ),
    ),
    count(error.count),
    issued > 0 ? share(error.count / issued) : NONE,
    where(error.labels, names),
    moment(error.first?.done_ns),
    moment(error.last_ns),
    error.first?.detail ? h("code", { class: "sample-text" }, error.first.detail) : NONE,
  ];
}

/** The first few labels by name, the rest as a number. */
function where(labels: number[], names: Map<number, string>): Child {
  const texts = labels.map((id) => names.get(id) ?? `label ${id}`);
  const more = texts.length - 3;
  return h(
    "span",
    { title: texts.slice(0, 50).join("\n") },
    ...texts.slice(0, 3).map((text) => h("span", { class: "line" }, text)),
    more > 0 ? h("span", { class: "line muted" }, `and ${count(more)} more`) : null,
  );
}
