// How the target came back to rest: what was left when the load ended, and how long answers stayed slow after a peak.

import { facts } from "../dom/table";
import { figure, NONE } from "../text/figures";
import { count, time } from "../text/units";
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
    ["requests under way when the load ended", count(after.under_way)],
    ["requests that ended after it", `${count(after.ended)}, ${count(after.errors)} in error`],
    ["p95 of their response time", figure(after.p95)],
    ["from the end of the load to the last of them", time(after.drained_ns)],
  ];
}

function afterPeak(page: Page, peak: Peak): [string, string][] {
  const name = page.summary.phases[peak.phase]?.name ?? "";
  return [
    [`requests under way when the peak (${name}) ended`, count(peak.under_way)],
    ["p95 in the phase before the peak", figure(peak.before)],
    ["after the peak, until p95 stayed at most half above that", settled(peak)],
  ];
}

function settled(peak: Peak): string {
  if (peak.settled_ns === 0) return "at once";
  if (peak.settled_ns !== null) return time(peak.settled_ns);
  return peak.slow_to_the_end ? "not until the load ended" : NONE;
}
