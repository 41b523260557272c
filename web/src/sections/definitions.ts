// What the words mean: every term that the page shows, in plain language. docs/explanation/measurement.md has all of it.

import { h } from "../dom/el";
import { facts } from "../dom/table";
import { type Section, section } from "./section";

const TERMS: [string, string][] = [
  [
    "lateness",
    "From the moment at which something was due until a worker turned to it. The generator's own delay, and nothing else.",
  ],
  ["wait", "From there until the first byte was written: waiting for a free connection, DNS, connecting, TLS."],
  ["service time", "From the first byte written to the last byte read: the network's and the server's time."],
  [
    "response time",
    "Lateness, wait and service together: from the moment at which the request was due to its last byte. What a user who came at that moment would have seen.",
  ],
  [
    "iteration",
    "One pass of a virtual user through its scenario, from its intended arrival to its last answer, think times included.",
  ],
  [
    "transaction",
    "One pass through a group of steps that the plan gives a name, from when the first of them was due to the end of the last, think times included. Its requests are counted in their own rows as well.",
  ],
  [
    "percentile",
    "p99 is the time that 99 of 100 requests did not exceed. Nothing is left out: a request without a complete answer ranks above all that have one. Percentiles come from merged histograms with three significant digits and are never averaged.",
  ],
  ["– in place of a figure", "Fewer than ten samples lie beyond the percentile: a figure would be chance."],
  [
    "≥ t",
    "The percentile falls among requests that were given up for taking too long; t is the shortest of them. The truth is at least that.",
  ],
  [
    "no answer",
    "No complete answer came: time-out, reset, refused, TLS, DNS, protocol, a fault of the generator, or unfinished at the end. As a figure: the percentile falls among those.",
  ],
  ["failed", "An answer came, but its status, a check or a capture says that it is not the right one."],
  ["skipped", "An arrival that the plan's own cap turned away."],
  ["unsent", "An arrival that was due and that the generator never started."],
  [
    "unknown",
    "An arrival of a process that was lost, due between the end of its record and the moment behind which it certainly sent nothing: nobody knows whether it was sent.",
  ],
  ["abandoned", "An iteration that was still under way when the run ended."],
  [
    "steady state",
    "Behind a warm-up, while the load stays the same, nothing changes any more: neither median nor 99th percentile nor the share of errors. Where a figure drifts, goes from one level to another, or more arrives than is answered, there is none.",
  ],
  ["VALID", "The generator kept to the plan, so what was measured is the server and the network."],
  [
    "DEGRADED",
    "A closed loop whose generator was short of CPU: its throughput is a lower bound. Or a run that lost one of its processes.",
  ],
  [
    "INVALID",
    "The generator was late, left part of the plan unsent, or ran out of descriptors or ports: the figures are not the server's alone.",
  ],
  ["INCONCLUSIVE", "There were too few samples to decide a criterion on either side."],
  [
    "Little's law",
    "Requests under way must equal their rate times how long each is under way. Both sides are measured independently; how far apart they are says whether the books are right.",
  ],
  ["spinning", "Time for which a worker stayed awake for the next arrival. It is not counted as work."],
  [
    "steal, waiting, throttled",
    "Shares of the time for which the hypervisor, other processes or a control group's limit kept a worker from running.",
  ],
];

export function definitions(): Section {
  return section("definitions", "Definitions", () => ({
    above: [h("div", { class: "card" }, facts(TERMS, "facts terms"))],
  }));
}
