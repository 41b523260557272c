// How the target came back to rest: what was left when the load ended, and how long answers stayed slow after a peak.

import { facts } from "../dom/table";
import { figure } from "../text/figures";
import { count, time } from "../text/units";
import type { Page, Peak, Recovery } from "../types";
import { type Section, section } from "./section";

/** Whoever is done sooner after the load needs no telling. */
const WORTH_TELLING_NS = 1e9;

export function recovery(): Section {
  return section("recovery", "Recovery", (page) => {
    const { recovery } = page.summary;
    if (!recovery) return {};
    const items = [...afterLoad(recovery), ...(recovery.peak ? afterPeak(page, recovery.peak) : [])];
    return { above: items.length > 0 ? [facts(items, "facts wide")] : [] };
  });
}

function afterLoad(r: Recovery): [string, string][] {
  if (r.ended === 0 || (r.drained_ns < WORTH_TELLING_NS && !r.peak)) return [];
  return [
    ["under way when the load ended", count(r.backlog)],
    ["ended after it", `${count(r.ended)}, ${count(r.errors)} in error`],
    ["their p95", figure(r.p95)],
    ["until the last was over", time(r.drained_ns)],
  ];
}

function afterPeak(page: Page, peak: Peak): [string, string][] {
  const name = page.summary.phases[peak.phase]?.name ?? "";
  const settled = peak.settled_ns === null ? "never" : peak.settled_ns === 0 ? "at once" : time(peak.settled_ns);
  return [
    [`under way at the end of the peak (${name})`, count(peak.backlog)],
    ["p95 in the phase before the peak", figure(peak.before)],
    ["until p95 stayed at most half above that", settled],
  ];
}
