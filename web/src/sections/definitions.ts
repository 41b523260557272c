// Definitions of every term on the page. docs/explanation/measurement.md has more.

import { h } from "../dom/el";
import { facts } from "../dom/table";
import { type Section, section } from "./section";

const TERMS: [string, string][] = [
  ["lateness", "From the time at which something was due until a worker handled it. Only the generator's own delay."],
  ["wait", "From there to the first byte written: waiting for a free connection, DNS, connecting, TLS."],
  ["service time", "From the first byte written to the last byte read: the network's and the server's time."],
  [
    "response time",
    "Lateness, wait and service together: from the time at which the request was due to its last byte. A user who arrived at that time would have waited this long.",
  ],
  [
    "iteration",
    "One pass of a virtual user through its scenario, from its intended arrival to its last response, including think times.",
  ],
  [
    "transaction",
    "One pass through a named group of steps, from the due time of the first to the end of the last, including think times. Its requests also have their own rows.",
  ],
  [
    "percentile",
    "99 of 100 requests took at most the time p99. Every request counts: one without a complete response ranks above all others. Percentiles come from merged histograms with three significant digits and are never averaged.",
  ],
  ["– in place of a figure", "Fewer than ten samples are beyond the percentile, so a figure would be chance."],
  [
    "≥ t",
    "The percentile falls among requests that timed out; t is the shortest of them. The true value is at least t.",
  ],
  [
    "no answer",
    "There was no complete response: time-out, reset, refused, TLS, DNS, protocol, a generator fault, or unfinished at the end. As a figure: the percentile falls among these requests.",
  ],
  ["failed", "A response arrived, but its status, a check or a capture is wrong."],
  ["skipped", "An arrival that a limit of the plan turned away."],
  ["unsent", "An arrival that was due and that the generator never started."],
  [
    "unknown",
    "An arrival of a lost process, due after the end of its record and before its lease expired. Whether it was sent is unknown.",
  ],
  ["abandoned", "An iteration in flight when the run ended."],
  [
    "steady state",
    "After a warm-up and under constant load, median, 99th percentile and share of errors no longer change. There is none if a figure drifts or shifts, or if more requests arrive than are answered.",
  ],
  ["VALID", "The generator followed the plan, so the figures describe the server and the network."],
  [
    "DEGRADED",
    "A closed loop whose generator was short of CPU: its throughput is a lower bound. Or a run that lost one of its processes.",
  ],
  [
    "INVALID",
    "The generator was late, left part of the plan unsent, or ran out of descriptors or ports. The figures do not describe the server alone.",
  ],
  ["INCONCLUSIVE", "There were too few samples to decide a criterion on either side."],
  [
    "Little's law",
    "Requests in flight must equal their rate times the time each is in flight. Both sides are measured independently, so their difference shows whether the figures are consistent.",
  ],
  ["spinning", "Time a worker spent awake until the next arrival. It does not count as work."],
  [
    "steal, waiting, throttled",
    "Shares of time in which the hypervisor, other processes or a control group's limit prevented a worker from running.",
  ],
];

export function definitions(): Section {
  return section("definitions", "Definitions", () => ({
    above: [h("div", { class: "card" }, facts(TERMS, "facts terms"))],
  }));
}
