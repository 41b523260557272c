// The criteria: bound, measured value, margin, and when each one held.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { timeline } from "../data/levels";
import { fullMargin } from "../dom/bars";
import { type Child, h } from "../dom/el";
import { prose } from "../dom/prose";
import { state } from "../dom/status";
import { type Column, table } from "../dom/table";
import { margin, NONE } from "../text/figures";
import { duration } from "../text/units";
import type { Judged, Page } from "../types";
import { muted, type Section, section } from "./section";

const COLUMNS: Column[] = [
  { name: "#", number: true },
  { name: "criterion" },
  { name: "judgement" },
  { name: "observed", number: true },
  { name: "margin", number: true, title: "distance from the bound, as a share of the bound" },
  { name: "", title: "margin as a bar: bars to the right mean that the criterion holds" },
  { name: "first violation", number: true, title: "the first second in which the criterion did not hold" },
];

export function criteria(env: Env): Section {
  const chart = new TimeChart(env, {
    id: "criteria-timeline",
    title: "When each criterion held",
    note: "Each point in time is judged separately. Light band: holds · full and hatched: fails · thin line: unknown.",
    draw: timeline,
    height: 150,
  });
  return section("criteria", "Criteria", (page) => ({ above: [listing(page)] }), [chart]);
}

function listing(page: Page): Child {
  const { criteria } = page.summary;
  if (criteria.length === 0) return muted("No criteria were set, so there is no verdict.");
  return table("Criteria", COLUMNS, criteria.map(row), "criteria");
}

function row(judged: Judged, index: number): Child[] {
  const first = judged.first_violation_ns;
  // Thresholds of a script are judged at the end only.
  const none = judged.is_of_script ? NONE : "never";
  return [
    String(index + 1),
    h(
      "span",
      {},
      h("code", {}, judged.text),
      judged.reason ? h("span", { class: "muted sub" }, ...prose(judged.reason)) : null,
    ),
    state(judged.judgement),
    judged.measured ?? NONE,
    judged.margin === null ? NONE : margin(judged.margin, judged.value),
    judged.margin === null ? null : fullMargin(judged.margin),
    first === null ? none : `at ${duration(Math.round(first / 1e8) * 1e8)}`,
  ];
}
