// What the bar of a running test says, in words: how far it is, and the figures of its newest second. Pure text, no elements.

import { figure, NONE, thin } from "../text/figures";
import { count, duration, rate, share } from "../text/units";
import type { Newest } from "../types";

const SECOND = 1e9;

/** How far the test is. */
export interface Progress {
  text: string;
  /** Of the planned time, between 0 and 1; null where no end is planned. */
  share: number | null;
}

export function progress(newest: Newest): Progress {
  const elapsed = newest.span_ns[1];
  const { end_ns: end, phase } = newest;
  if (end === 0) return { text: `${whole(elapsed)} so far, no end is planned`, share: null };
  const of = `${whole(elapsed)} of ${whole(end)}`;
  // The last interval ends where the load does, or in the second behind it.
  if (elapsed > end + SECOND) return { text: `${of}: the load is over, what is under way may still end`, share: 1 };
  const place = phase && (phase.name === "" ? `phase ${phase.number} of ${phase.of}` : named(phase));
  return { text: place ? `${place} · ${of}` : of, share: Math.min(elapsed / end, 1) };
}

function named(phase: { name: string; number: number; of: number }): string {
  return `${phase.name} (phase ${phase.number} of ${phase.of})`;
}

/** Whole seconds: what comes once a second has no others. */
function whole(ns: number): string {
  return duration(Math.round(ns / SECOND) * SECOND);
}

/** A figure with its name and what it is of. */
export interface Shown {
  name: string;
  value: string;
  note: string;
  bad?: boolean;
}

export function figures(newest: Newest): Shown[] {
  const level: Shown = newest.closed
    ? { name: "Users", value: count(newest.users), note: "under way" }
    : { name: "In flight", value: count(newest.in_flight), note: "requests" };
  const answered = newest.answered_per_second;
  return [
    { name: "Rate", value: answered === null ? NONE : `${rate(answered)}/s`, note: "answered" },
    level,
    { name: "p95", value: percentile(newest), note: `${newest.time} time` },
    {
      name: "Errors",
      value: newest.error_share === null ? NONE : `${count(newest.errors)} (${share(newest.error_share)})`,
      note: `${count(newest.errors_so_far)} so far`,
      bad: newest.errors > 0,
    },
  ];
}

/** Of so few that it may be chance, it stands without its interval: there is no room for it. */
function percentile({ p95 }: Newest): string {
  return p95?.thin ? thin(p95.thin) : figure(p95);
}

/** A moment of the log: `1:02.5`, minutes and seconds from the start. */
export function clock(ns: number): string {
  const tenths = Math.floor(ns / 1e8);
  const [minutes, seconds] = [Math.floor(tenths / 600), (tenths % 600) / 10];
  return `${minutes}:${seconds.toFixed(1).padStart(4, "0")}`;
}
