// Recovery: requests left at the end of the load, and how long responses stayed slow after a peak.

import { facts } from "../dom/table";
import { figure, NONE } from "../text/figures";
import { count, share, time } from "../text/units";
import type { AfterLoad, Page, Peak } from "../types";
import { type Section, section } from "./section";

export function recovery(): Section {
  return section("recovery", "Recovery", (page) => {
    const { recovery } = page.summary;
    const left = recovery?.after_load ? afterLoad(recovery.after_load) : [];
    const items = recovery?.peak ? [...left, ...afterPeak(page, recovery.peak)] : left;
    return { above: items.length > 0 ? [facts(items, "facts wide")] : [] };
  });
}

function afterLoad(after: AfterLoad): [string, string][] {
  return [
    ["requests in flight when the load ended", count(after.in_flight)],
    ["requests that ended after the load", `${count(after.ended)}, with ${count(after.errors)} errors`],
    ["p95 of the response time of these requests", figure(after.p95)],
    ["time from the end of the load until the last of these requests ended", time(after.drained_ns)],
  ];
}

function afterPeak(page: Page, peak: Peak): [string, string][] {
  const name = page.summary.phases[peak.phase]?.name ?? "";
  return [
    [`requests in flight when the peak (${name}) ended`, count(peak.in_flight)],
    ["p95 in the phase before the peak", figure(peak.before)],
    [
      `time after the peak until p95 was at most ${time(peak.bound_ns)} and errors at most ${share(peak.error_bound)} for 10 s`,
      settled(peak),
    ],
    [
      "time after the peak until no more requests were in flight than before it",
      peak.drained_ns === null ? NONE : time(peak.drained_ns),
    ],
  ];
}

function settled(peak: Peak): string {
  if (peak.settled_ns === 0) return "immediately";
  if (peak.settled_ns !== null) return time(peak.settled_ns);
  if (!peak.slow_until_end) return NONE;
  const within = `not within ${time(peak.observed_ns)}, the time until the load ended`;
  return peak.is_metastable ? `${within} (metastable)` : within;
}
