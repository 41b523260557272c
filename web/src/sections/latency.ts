// Latency over time and its distribution: heat map, distribution and percentile curve.

import type { Env } from "../charts/env";
import { HeatScale } from "../charts/heat_scale";
import { PlaneChart } from "../charts/plane_chart";
import { TimeChart } from "../charts/time_chart";
import { latency as drawLatency, heat } from "../data/latency";
import { curve, density } from "../data/planes";
import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { headline } from "../text/figures";
import { count, time, timeInterval } from "../text/units";
import type { Page } from "../types";
import { muted, type Section, section } from "./section";

const MEANING = {
  response:
    "Response time: from the due time of a request to its last byte. Dotted: service time, from its first byte written.",
  service:
    "Service time: from the first byte written to the last byte read. Each connection sees a stall of the server only once.",
};

export function latency(env: Env): Section {
  const chart = new TimeChart(env, {
    id: "latency",
    title: "Percentiles over time",
    draw: drawLatency,
    height: 320,
    phases: true,
  });
  return section(
    "latency",
    "Latency over time",
    (page) => {
      if (page.summary.all.count === 0)
        return { above: [muted("No request has finished, so there is no latency to show.")] };
      const tool = page.summary.run.imported_from;
      const meaning = tool ? `Times are as measured by ${tool}.` : MEANING[headline(page.summary)];
      const { steady, measurement } = page.summary;
      // What the generator disturbed supports no conclusion about the service.
      const settled = steady && (measurement?.verdict ?? "VALID") === "VALID" ? h("p", {}, steady.sentence) : null;
      const sure = measurement?.verdict === "INVALID" ? null : confidence(page);
      return { above: [muted(meaning), settled], below: [sure] };
    },
    [chart],
  );
}

export function distribution(env: Env): Section {
  const map = new TimeChart(env, {
    id: "heat",
    title: "Heat map: distribution of responses",
    note: "Point at a cell to see its number of responses.",
    draw: heat,
    height: 280,
  });
  const pair = [
    new PlaneChart(env, {
      id: "density",
      title: "Distribution",
      note: "Bars: the headline time. Lines: service time.",
      draw: density,
    }),
    new PlaneChart(env, {
      id: "curve",
      title: "Percentile curve",
      note: "Each additional nine has the same width.",
      draw: curve,
    }),
  ];
  return section("distribution", "Distribution", (page) => ({ below: [unanswered(page)] }), [
    map,
    new HeatScale(env),
    pair,
  ]);
}

/** Confidence intervals of p50 and p99. */
function confidence(page: Page): Child {
  const rows = page.summary.confidence;
  if (rows.length === 0) return null;
  const columns = [
    { name: "of" },
    { name: "figure" },
    { name: "estimate", number: true },
    { name: "95 % interval", number: true },
    { name: "samples", number: true },
    { name: "worth", number: true, title: "number of independent samples with equal precision" },
  ];
  const cells = rows.map((c): Child[] => [
    c.label,
    `${c.time} ${c.percentile}`,
    time(c.ns),
    c.high_ns === null ? `${time(c.low_ns)} to unknown` : timeInterval(c.low_ns, c.high_ns, c.ns),
    count(c.samples),
    `${count(Math.round(c.effective))}${c.approximate ? " (rough)" : ""}`,
  ]);
  return h("div", {}, h("h3", {}, "Uncertainty of the percentiles"), table("Confidence intervals", columns, cells));
}

function unanswered(page: Page): Child {
  const missing = page.series.distribution.filter((d) => d.unanswered > 0);
  if (missing.length === 0) return null;
  const list = missing.map((d) => `${count(d.unanswered)} of ${count(d.count)} (${d.time})`).join(", ");
  return muted(`Without a complete response, ranked above all times shown: ${list}.`);
}
