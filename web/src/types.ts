// Types of the page's data, as written by the report: `summary.json`, `series.json` and the
// manifest in one object. Units are in the names (`_ns`: nanoseconds from the start).

/** All data of the page. */
export interface Page {
  summary: Summary;
  series: Series;
  manifest: Manifest;
}

/**
 * A percentile with few samples beyond. Without `ns` and `at_least_ns` its rank falls among missing
 * responses.
 */
export interface Thin {
  ns?: number;
  at_least_ns?: number;
  low_ns?: number;
  high_ns?: number;
  /** The largest sample, if there is no upper bound. */
  largest_ns?: number;
}

/** A figure of a distribution: exactly one of the first three is set, or `too_few`. */
export interface Figure {
  ns?: number;
  /** The rank falls among requests that timed out. */
  at_least_ns?: number;
  /** The rank falls among unanswered requests. */
  no_answer?: boolean;
  /** Number of samples with a higher rank. */
  beyond: number;
  /** Fewer than ten samples rank higher, so it may be due to chance. */
  too_few?: boolean;
  thin?: Thin;
  /** The tool that measured did not report it; only in imported runs. */
  unreported?: boolean;
}

export interface Stats {
  count: number;
  unanswered: number;
  mean_ns: number | null;
  min_ns: number | null;
  p50: Figure;
  p90: Figure;
  p95: Figure;
  p99: Figure;
  p999: Figure;
  max: Figure;
}

/** A row: an endpoint, a scenario's iterations, a group's transactions, or all requests (id 0). */
export interface Row {
  id: number;
  group: "request" | "iteration" | "transaction" | "mqtt" | "custom";
  text: string;
  count: number;
  errors: number;
  error_share: number | null;
  per_second: number;
  service: Stats | null;
  /** First byte written to first byte read. Missing if it was not measured. */
  first_byte?: Stats | null;
  /** From the intended start of each request. Missing for iterations and for other tools. */
  response: Stats | null;
  /** Of an iteration or a transaction. */
  iteration: Stats | null;
  /** The iteration without its pauses, if it has any. */
  unpaused?: Stats;
  codes: Record<string, number>;
  none: Record<string, number>;
  bytes_out: number;
  bytes_in: number;
  /** Figures of the row that criteria judge: `response/p95`. */
  judged?: string[];
}

export interface Judged {
  text: string;
  judgement: "PASS" | "FAIL" | "INCONCLUSIVE";
  /** In words, with its unit. */
  measured: string | null;
  value: number | null;
  /** JSON pointer to the judged figure in the summary; missing if the summary does not have it. */
  figure?: string;
  /** Distance from the bound as a share of it; positive if the criterion holds. */
  margin: number | null;
  reason: string | null;
  /** First chart point at which the criterion failed on its own; null: never, or not applicable. */
  first_violation_ns: number | null;
}

export interface Measurement {
  verdict: "VALID" | "DEGRADED" | "INVALID";
  reasons: string[];
  /** Periods in which the generator was late. */
  late_ns: [number, number][];
  first_bad_ns: number | null;
  lateness_p99_ns: number | null;
  /** 99th percentile of the stall. */
  stall_p99_ns: number | null;
  /** Share of the plan that was sent; null in a closed loop. */
  sent: number | null;
  cpu: number;
  waiting: number;
  littles_law: number | null;
}

export interface Arrivals {
  planned: number | null;
  until_stop: boolean;
  started: number;
  skipped: number;
  unsent: number | null;
  /** Arrivals of a lost process that may or may not have been sent. */
  unknown?: number;
  completed: number;
  /** Of the completed ones, those that ended with a planned exit. */
  exited?: number;
  failed: number;
  abandoned: number;
  in_flight: number;
  adds_up: boolean;
}

export interface Requests {
  issued: number;
  ok: number;
  failed: number;
  none: number;
  none_by_class: Record<string, number>;
  redirects: number;
  in_flight: number;
  adds_up: boolean;
}

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

/** A metric that the test's script reported. */
export interface CustomRow {
  name: string;
  kind: "counter" | "histogram" | "rate" | "error";
  /** Sum of a counter, or number of values, events or errors. */
  count: number;
  per_second: number;
  /** Statistics of a histogram, by name. */
  values?: Record<string, number>;
  /** Figures that criteria judge, for example `values/p95`. */
  judged?: string[];
}

/** A route of a mock: configured and served times. */
export interface MockRow {
  mock: string;
  route: string;
  received: number;
  /** Responses by status. */
  codes: Record<string, number>;
  resets: number;
  silent: number;
  /** The recorded requests that define its times. */
  from?: string;
  times: { statistic: string; planned_ns: number | null; due_ns: number; served_ns: number }[];
  difference: number | null;
  late_p99_ns: number | null;
  capacity?: { workers: number; per_second: number; utilisation: number };
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

/** Plan and result of a scenario. */
export interface ScenarioRow {
  id: number | null;
  name: string;
  /** Its share of the arrivals by weight. */
  share: number | null;
  /** Arrivals planned; null in a closed loop. */
  planned: number | null;
  planned_per_hour: number | null;
  planned_per_second: number | null;
  /** Iterations that ended, with any result. */
  ended: number;
  completed: number;
  failed: number;
  /** Still in flight at the end of the run; null during the run. */
  unfinished: number | null;
  completed_per_hour: number;
  completed_per_second: number;
  /** Completed as a share of planned. */
  of_plan: number | null;
}

/** Plan and result of a phase. */
export interface PhaseRow {
  /** Its name, or its number from 1. */
  name: string;
  /** The load in words. */
  text: string;
  start_ns: number;
  end_ns: number;
  /** Arrivals planned; null in a closed loop. */
  planned: number | null;
  /** Arrivals started whose intended start is in the phase; null in a closed loop. */
  started: number | null;
  /** Ended requests whose intended start is in the phase. */
  requests: number;
  errors: number;
  /** Requests divided by the phase's length. */
  per_second: number;
  /** Response, iteration or service time, whichever is the headline. */
  p95: Figure | null;
  p99: Figure | null;
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
  status: number | null;
  intended_ns: number;
  first_write_ns?: number | null;
  done_ns: number;
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

export interface Summary {
  schema: number;
  run: {
    name: string;
    target: string;
    frontend: string;
    started_utc: string;
    started_wall_ns: number;
    state: "running" | "complete" | "interrupted";
    ended_by: string | null;
    /** The stop rule that ended the run, with the measured value. */
    stopped?: { at_ns: number; text: string };
    model: "open" | "closed" | "once";
    load: string;
    elapsed_ns: number;
    /** The tool that measured, if it was not Loadline. Its times are service times. */
    imported_from?: string | null;
    version: string;
    /** Missing in imported runs. */
    workers?: number;
    seed?: number;
    /** Where an incomplete record ends. All figures describe the time before. */
    record_ends_ns?: number | null;
  };
  /** The verdict of all criteria together: PASS, FAIL, INCONCLUSIVE, or null without criteria. */
  verdict: {
    criteria: "PASS" | "FAIL" | "INCONCLUSIVE" | null;
    /** One sentence. */
    sentence: string;
    /**
     * The figures that decided it: of criteria, or of the generator if the measurement is invalid.
     */
    figures: Deciding[];
    /** The question that the run answers. */
    question?: string;
    /** How certain the answer is, and why. */
    certainty?: string;
    /** What to do, most important first. */
    advice?: string[];
    /** Key figures. */
    key_figures?: Deciding[];
    /** The most important conclusions, as indices into `conclusions`. */
    key_conclusions?: number[];
  };
  criteria: Judged[];
  measurement: Measurement | null;
  exit_code: number;
  arrivals: Arrivals | null;
  requests: Requests;
  phases: PhaseRow[];
  scenarios: ScenarioRow[];
  /** Missing in records of older versions. */
  steady?: Steady | null;
  recovery: Recovery | null;
  saturation?: Saturation | null;
  custom?: CustomRow[];
  mocks?: MockRow[];
  nodes?: NodeRow[];
  all: Row;
  labels: Row[];
  iterations: Row[];
  transactions?: Row[];
  confidence: {
    label: string;
    time: string;
    percentile: string;
    ns: number;
    low_ns: number;
    high_ns: number | null;
    samples: number;
    effective: number;
    approximate: boolean;
  }[];
  lateness: Stats | null;
  wait: Stats | null;
  connect: Stats | null;
  tls: Stats | null;
  in_flight: { mean: number; max: number };
  users: { mean: number; max: number };
  connections_opened: number;
  errors: ErrorRow[];
  conclusions: Conclusion[];
  /** Assumptions, one sentence each. */
  assumptions: string[];
  notes: string[];
  record: string | null;
}

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
}

export interface About {
  objective?: string;
  owner?: string;
  environment?: [string, string][];
  links?: [string, string][];
  tags?: string[];
}

export interface Manifest {
  tool: { name: string; version: string };
  command: string[];
  frontend: string;
  stop: string[];
  /** The purpose of the test, as its owner wrote it. */
  about?: About;
  start: { utc: string; wall_ns: number };
  end: { ns: number; reason: string | null } | null;
  files: { path: string; sha256: string | null; bytes: number }[];
  git: string | null;
  host: {
    name: string | null;
    kernel: string | null;
    cpu: string | null;
    cpus: number | null;
    memory_bytes: number | null;
    clock_source: string | null;
    open_files_limit: string | null;
    local_ports: string | null;
    cgroup_cpu: string | null;
    cgroup_memory: string | null;
  };
}

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

/** The result of one node of a distributed run. */
export interface NodeRow {
  node: number;
  name: string;
  state: "up" | "silent" | "lost" | "finished";
  rate: number;
  requests: number;
  cpu: number;
  lateness_p99_ns: number | null;
  response_p99_ns: number | null;
  response_p95_within_ns: [number, number] | null;
  offset_ns: number | null;
  offset_error_ns: number;
}
