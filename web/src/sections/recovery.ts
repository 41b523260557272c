// How the target came back to rest: what was left when the load ended, and how long answers stayed slow after a peak.

import { h } from "../dom/el";
import { facts } from "../dom/table";
import { figure } from "../text/figures";
import { count, time } from "../text/units";
import type { Page, Peak, Recovery } from "../types";
import { type Section, section } from "./section";

export function recovery(): Section {
  return section("recovery", "Recovery", (page) => {
    const { recovery } = page.summary;
    if (!recovery) return {};
    const items = [...afterLoad(recovery), ...(recovery.peak ? afterPeak(page, recovery.peak) : [])];
    return { above: items.length > 0 ? [h("div", {}, facts(items, "facts wide"))] : [] };
  });
}

function afterLoad(r: Recovery): [string, string][] {
  if (r.ended === 0) return [];
  return [
    ["when the load ended", `${count(r.backlog)} requests under way`],
    ["after it", `${count(r.ended)} ended, ${count(r.errors)} of them in error; p95 ${figure(r.p95)}`],
    ["the run was over", `${time(r.drained_ns)} later`],
  ];
}

function afterPeak(page: Page, peak: Peak): [string, string][] {
  const name = page.summary.phases[peak.phase]?.name ?? "";
  const back = `p95 at most half above the ${figure(peak.before)} of the phase before`;
  const told =
    peak.settled_ns === null ? `not again ${back}` : `${back}, and staying there, after ${time(peak.settled_ns)}`;
  return [[`after the peak (${name})`, told]];
}
