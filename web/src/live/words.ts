// Texts in the bar of a running test: progress and figures of the newest second.

import { figure, NONE, thin } from "../text/figures";
import { count, duration, rate, share } from "../text/units";
import type { Newest } from "../types";

const SECOND = 1e9;

/** Progress of the test. */
export interface Progress {
  text: string;
  /** Share of the planned time, between 0 and 1; null without a planned end. */
  share: number | null;
}

export function progress(newest: Newest): Progress {
  const elapsed = newest.span_ns[1];
  const { end_ns: end, phase } = newest;
  if (end === 0) return { text: `${inSeconds(elapsed)} elapsed, no planned end`, share: null };
  const of = `${inSeconds(elapsed)} of ${inSeconds(end)}`;
  // The last interval ends with the load, or in the second after it.
  if (elapsed > end + SECOND)
    return { text: `${of}: the load has ended, requests in flight may still finish`, share: 1 };
  const place = phase && (phase.name === "" ? `phase ${phase.number} of ${phase.count}` : named(phase));
  return { text: place ? `${place} · ${of}` : of, share: Math.min(elapsed / end, 1) };
}

function named(phase: { name: string; number: number; count: number }): string {
  return `${phase.name} (phase ${phase.number} of ${phase.count})`;
}

/** Formats whole seconds, because updates come once a second. */
function inSeconds(ns: number): string {
  return duration(Math.round(ns / SECOND) * SECOND);
}

/** A figure with its name and unit. */
export interface Shown {
  name: string;
  value: string;
  note: string;
  bad?: boolean;
}

export function figures(newest: Newest): Shown[] {
  const level: Shown = newest.closed
    ? { name: "Users", value: count(newest.users), note: "running" }
    : { name: "In flight", value: count(newest.in_flight), note: "requests" };
  const answered = newest.answered_per_second;
  return [
    { name: "Rate", value: answered === null ? NONE : `${rate(answered)}/s`, note: "answered" },
    level,
    { name: "p95", value: percentile(newest), note: `${newest.time} time` },
    {
      name: "Errors",
      value: newest.error_share === null ? NONE : `${count(newest.errors)} (${share(newest.error_share)})`,
      note: `${count(newest.errors_so_far)} in total`,
      bad: newest.errors > 0,
    },
  ];
}

/** A percentile of few samples has no interval here, for lack of room. */
function percentile({ p95 }: Newest): string {
  return p95?.thin ? thin(p95.thin) : figure(p95);
}

/** Formats a time of the log: `1:02.5`, minutes and seconds from the start. */
export function clock(ns: number): string {
  const tenths = Math.floor(ns / 1e8);
  const [minutes, seconds] = [Math.floor(tenths / 600), (tenths % 600) / 10];
  return `${minutes}:${seconds.toFixed(1).padStart(4, "0")}`;
}
