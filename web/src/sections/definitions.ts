// Definitions of every term on the page. docs/explanation/measurement.md has more.

import { h } from "../dom/el";
import { facts } from "../dom/table";
import { type Section, section } from "./section";

const TERMS: [string, string][] = [
  ["lateness", "Time from when something was due until a worker handled it. This is the generator's own delay."],
  [
    "wait",
    "Time from when a worker handled the request to its first byte written: waiting for a free connection, DNS, connecting, TLS.",
  ],
  ["service time", "Time from the first byte written to the last byte read, spent by the network and the server."],
  [
    "response time",
    "Lateness, wait and service time together: from the time at which the request was due to its last byte. A user who arrived at that time would have waited this long.",
  ],
  [
    "iteration",
    "One pass of a virtual user through its scenario, from its intended arrival to its last response, including think times.",
  ],
  [
    "transaction",
    "One pass through a named group of steps, from the due time of the first step to the end of the last, including think times. Its requests also have separate rows.",
  ],
  [
    "percentile",
    "p99 is the time that 99 of 100 requests did not exceed. Every request counts: a request without a complete response ranks above all others. Percentiles come from merged histograms with three significant digits and are never averaged.",
  ],
  ["– instead of a figure", "Fewer than ten samples are beyond the percentile, so a figure would be due to chance."],
  [
    "≥ t",
    "The percentile falls among requests that timed out, and t is the shortest of their times. The true value is at least t.",
  ],
  [
    "no answer",
    "There was no complete response: time-out, reset, refused, TLS, DNS, protocol, a generator fault, or unfinished at the end. As a figure, it means that the percentile falls among these requests.",
  ],
  ["failed", "A response arrived, but its status, a check or a capture is wrong."],
  ["skipped", "An arrival that a limit of the plan turned away."],
  ["unsent", "An arrival that was due but that the generator never started."],
  [
    "unknown",
    "An arrival of a lost process, due after the end of its record and before its lease expired. It is unknown whether it was sent.",
  ],
  ["abandoned", "An iteration in flight when the run ended."],
  [
    "steady state",
    "The part of a run, after a warm-up and under constant load, in which the median, the 99th percentile and the share of errors do not change. There is no steady state if a figure drifts or shifts, or if more requests arrive than are answered.",
  ],
  ["VALID", "The generator followed the plan, so the figures describe the server and the network."],
  [
    "DEGRADED",
    "The run was a closed loop whose generator was short of CPU, so its throughput is a lower bound, or it lost one of its processes.",
  ],
  [
    "INVALID",
    "The generator was late, left part of the plan unsent, or ran out of descriptors or ports. The figures do not describe only the server.",
  ],
  ["INCONCLUSIVE", "There were too few samples to decide whether a criterion holds."],
  [
    "Little's law",
    "The number of requests in flight must equal their rate times the duration of each. Both values are measured independently, so their difference shows whether the figures are consistent.",
  ],
  ["spinning", "Time that a worker spent awake waiting for the next arrival. It does not count as work."],
  [
    "steal, waiting, throttled",
    "Share of time in which the hypervisor, other processes or a control group's limit prevented a worker from running.",
  ],
];

export function definitions(): Section {
  return section("definitions", "Definitions", () => ({
    above: [h("div", { class: "card" }, facts(TERMS, "facts terms"))],
  }));
}
