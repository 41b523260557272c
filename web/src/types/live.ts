// What the live view receives.

import type { Figure } from "./figures";
import type { ErrorRow } from "./findings";
import type { Series } from "./series";
import type { Summary } from "./summary";

/**
 * Sent to the live view once a second: `series.points` and `criteria_timeline` have only the points
 * from index `from` on.
 */
export interface Tick {
  summary: Summary;
  series: Series;
  from: number;
}

/** Also sent to the live view: the newest interval and the log. */
export interface Now {
  newest: Newest;
  /** The newest lines, oldest first, and the number of omitted older ones. */
  log: { lines: LogLine[]; left_out: number };
  load: Steering;
}

/**
 * What may be changed of a running test's load: rate or users, with current value and maximum; or
 * the reason why nothing may.
 */
export type Steering = { quantity: "rate" | "users"; value: number; most: number } | { quantity: null; reason: string };

export interface Newest {
  /** The interval's start and end; the end is the progress of the test. */
  span_ns: [number, number];
  /** When the load ends; 0 means unknown. */
  end_ns: number;
  /** If there are several. */
  phase: { name: string; number: number; count: number } | null;
  closed: boolean;
  /** Null before the first interval. */
  answered_per_second: number | null;
  /** At the interval's end. */
  in_flight: number;
  users: number;
  /** The time of the percentile: `response`, `iteration`, `service`. */
  time: string;
  p95: Figure | null;
  ended: number;
  errors: number;
  error_share: number | null;
  errors_so_far: number;
  /** The most recent ones first. */
  kinds: NewestError[];
  kinds_omitted: number;
}

/** A kind of error at one endpoint. */
export interface NewestError {
  reason: string;
  class: string;
  label: string;
  count: number;
  /** In the newest interval. */
  now: number;
  first: ErrorRow["first"];
}

export interface LogLine {
  at_ns: number;
  /** `message` (of the test), `remark`, `warning`, `error`, `phase`, `load`, `stop`. */
  kind: string;
  text: string;
}
