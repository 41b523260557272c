// Series over time, for charts.

import type { Figure } from "./figures";

/** A column with a value per point, or null. */
export type Column = (number | null)[];

/** p50, p95, p99 and maximum of a time, in nanoseconds. */
export interface Times {
  p50: Column;
  p95: Column;
  p99: Column;
  max: Column;
}

/** One series of a server metric. */
export interface Panel {
  name: string;
  instance?: string | null;
  unit: string;
  limit: number | null;
  values: Column;
}

/** A metric that the test's script reported, over time. */
export interface CustomSeries {
  name: string;
  /** `counter`, `histogram`, `rate`, `error`, `sum`, `gauge`, `share` or `check`. */
  kind: string;
  /** Sum of a counter, or number of values, events, errors or evaluations. */
  count: number[];
  /** Percentiles of a histogram; missing for other types. */
  p50?: Column;
  p95?: Column;
  /** Means of a gauge, and shares of a share or a check; missing for other types. */
  mean?: Column;
  /** Sums of a sum; missing for other types. */
  sum?: number[];
}

/** A metric that never changed. */
export interface Constant {
  name: string;
  text: string;
}

/**
 * The run over time: at most 720 points of `width_ns` each. All columns are as long as `from_ns`.
 * Points are cut at whole seconds of the wall clock, so the first and the last are shorter; rates
 * are the count divided by the point's own length.
 */
export interface Series {
  schema: number;
  width_ns: number;
  points: {
    from_ns: number[];
    to_ns: number[];
    /** Index into `summary.phases` of the phase at the point's start. */
    phase: number[];
    /** Arrivals due by the plan (0 in a closed loop). */
    due: number[];
    started: number[];
    skipped: number[];
    /** Requests started; ended ok, failed, or unanswered. */
    issued: number[];
    ok: number[];
    failed: number[];
    none: number[];
    /** Responses by status class. */
    status_1xx: number[];
    status_2xx: number[];
    status_3xx: number[];
    status_4xx: number[];
    status_5xx: number[];
    /** Failed and unanswered requests by class. A request is in exactly one. */
    errors: Record<string, number[]>;
    bytes_out: number[];
    bytes_in: number[];
    response: Times;
    service: Times;
    iteration: Times;
    lateness: Times;
    wait: Times;
    /** Streamed responses: times, and the number of events with content. Missing if there are none. */
    stream?: { ttft: Times; gap: Times; chunks: number[] };
    /** Requests in flight, by samples: mean and maximum. */
    in_flight: Column;
    in_flight_max: Column;
    /** By Little's law: ended requests × their time in flight, divided by the point's length. */
    littles_law: Column;
    users: Column;
    connections_open: number[];
    connections_opened: number[];
    /**
     * Shares of a core, a column per worker: work without spinning; spinning; ready but waiting for
     * a CPU; steal.
     */
    worker_cpu: Column[];
    worker_spin: Column[];
    worker_waiting: Column[];
    worker_steal: Column[];
    /** The longest stall of a worker, in nanoseconds. */
    stall_ns: number[];
    /** Share of time in which the control group throttled the generator. */
    throttled: number[];
  };
  /** Latency distribution over time. Column i covers points i × every up to (i + 1) × every. */
  heat: {
    /** `response`, `iteration` or `service`: the headline time. */
    time: string;
    every: number;
    /** Rows: values from `bounds_ns[r]` up to `bounds_ns[r + 1]`. */
    bounds_ns: number[];
    /** Per column: [row, count, row, count, …], without empty rows. */
    columns: number[][];
  };
  /** The whole run's distribution. */
  distribution: {
    /** The kind of time: `response`, `iteration`, `service`. */
    time: string;
    count: number;
    unanswered: number;
    /** [share of all at or below, nanoseconds], up to the last answered one. */
    curve: [number, number][];
    /** [from, to, count] in nanoseconds, logarithmic cells, without empty ones. */
    density: [number, number, number][];
  }[];
  /** By label: its series of at most 60 points, and its details. */
  labels: {
    id: number;
    /** The kind of time of its percentiles; null without responses. */
    time: string | null;
    from_ns: number[];
    to_ns: number[];
    count: number[];
    errors: number[];
    p50: Column;
    p95: Column;
    p99: Column;
    /** Distribution over the whole run: [from, to, count], without empty cells. */
    density: [number, number, number][];
    /** Times measured in addition to those of its row. */
    times: { time: string; count: number; p50: Figure; p95: Figure; p99: Figure; max: Figure }[];
    /** By phase, if there are several: requests intended in it. */
    phases?: {
      phase: number;
      count: number;
      errors: number;
      p50: Figure | null;
      p95: Figure | null;
      p99: Figure | null;
    }[];
  }[];
  /**
   * In the order of `summary.criteria`: whether the criterion held for each point alone; null:
   * unknown.
   */
  criteria_timeline: (boolean | null)[][];
  /** Server metrics, a column per series, in the order of points. */
  server?: Panel[];
  /** Metrics that never changed. */
  constants?: Constant[];
  /** Custom metrics, in the order of points. Only some if there are many. */
  custom?: CustomSeries[];
}
