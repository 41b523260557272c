// Findings of a summary: steady state, saturation, recovery, errors, conclusions.

import type { Figure } from "./figures";

/** Whether the service reached a steady state under constant load, and when. */
export interface Steady {
  behaviour: "steady" | "warming_up" | "drifting" | "shifting" | "overload" | "unknown";
  /** In words. */
  sentence: string;
  from_ns: number;
  to_ns: number;
  /** The end of the warm-up; null if it was not reached or is unknown. */
  settled_ns: number | null;
}

/** Which measured resources reached their limits. */
export interface Saturation {
  /** In the order in which they did. */
  reached: Reached[];
  /** Index into `reached`; null if none did, or the first is unknown. */
  first: number | null;
  /** In words. */
  sentence: string;
  /** Resources with known limits. */
  watched: string[];
}

export interface Reached {
  resource: string;
  source: string;
  metric: string;
  limit: string;
  instances: number;
  all_instances: number;
  at_ns: number;
  held_ns: number;
  issued_per_second: number | null;
  cause: string | null;
}

/** How the target recovered. */
export interface Recovery {
  after_load: AfterLoad | null;
  peak: Peak | null;
}

/** Requests left at the end of the load. */
export interface AfterLoad {
  from_ns: number;
  /** Requests in flight at that time. */
  in_flight: number;
  /** From then to the last completion. */
  drained_ns: number;
  /** Requests that ended later, and those of them with errors. */
  ended: number;
  errors: number;
  p95: Figure | null;
}

/** Response times after the phase with the highest load, compared with before. */
export interface Peak {
  /** Index into `summary.phases`. */
  phase: number;
  end_ns: number;
  /** Requests started and answered in it, per second. */
  issued_per_second: number;
  answered_per_second: number;
  /** Requests in flight at its end. */
  in_flight: number;
  before: Figure;
  /** Bounds of p95 and share of errors that count as recovered. */
  bound_ns: number;
  error_bound: number;
  /** 0 means immediately. Null: not recovered for 10 s, or unknown. */
  settled_ns: number | null;
  /** Until at most as many requests were in flight as before. */
  drained_ns: number | null;
  observed_ns: number;
  slow_until_end: boolean;
  is_metastable: boolean;
}

/** The first sample of an error. */
export interface FirstError {
  label: number;
  reason: string;
  detail: string;
  /** Expected and actual values of failed checks. */
  mismatches?: string[];
  /** The beginning of the response body. */
  body?: string;
  /** HTTP status, or a text such as `websocket:1011`. */
  status: number | string | null;
  intended_ns: number;
  first_write_ns?: number | null;
  done_ns: number;
  /** Ids under which the service may have recorded the request. */
  trace?: { trace_id: string; span_id: string };
}

export interface ErrorRow {
  reason: string;
  /**
   * `failed` (answered), or the class of the missing response: timeout reset refused tls dns
   * protocol generator unfinished.
   */
  class: string;
  count: number;
  labels: number[];
  /** By label. */
  by_label?: { label: number; count: number; first: FirstError | null }[];
  first: FirstError | null;
  /** The end of the last second in which it occurred. */
  last_ns: number | null;
}

/** A figure with its name, in words. */
export interface Deciding {
  name: string;
  value: string;
  note: string | null;
}

/** A sentence written by a rule, with the figures that support it. */
export interface Conclusion {
  /** `finding` (an observation), `cause`, `limit`, `advice`. */
  kind: string;
  /** `good`, `neutral`, `bad`. */
  tone: "good" | "neutral" | "bad";
  text: string;
  /** Paths of its figures in summary.json: `all.service.p99`. */
  figures: string[];
}
