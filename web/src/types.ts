// The page's data, as the report writes it: `summary.json`, `series.json` and the manifest, in one object. The record's
// schema is the only thing that the page shares with the rest; units are in the names (`_ns`: nanoseconds from the start).

/** Everything the page is given. */
export interface Page {
  summary: Summary;
  series: Series;
  manifest: Manifest;
}

/** What is known of a percentile that few samples lie beyond; neither `ns` nor `at_least_ns`: its rank falls among missing answers. */
export interface Thin {
  ns?: number;
  at_least_ns?: number;
  low_ns?: number;
  high_ns?: number;
  /** The largest of the sample, where there is no upper bound. */
  largest_ns?: number;
}

/** A figure of a distribution: exactly one of the first three is set, or `too_few`. */
export interface Figure {
  ns?: number;
  /** The rank falls among requests that were given up for taking too long. */
  at_least_ns?: number;
  /** The rank falls among requests without an answer. */
  no_answer?: boolean;
  /** So many samples rank higher. */
  beyond: number;
  /** Fewer than ten samples lie beyond it: it may be chance. */
  too_few?: boolean;
  thin?: Thin;
  /** The tool that measured did not give it; only of imported runs. */
  not_given?: boolean;
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

/** A label's row: an endpoint, a scenario's iterations, a group's transactions, or all requests (id 0). */
export interface Row {
  id: number;
  group: "request" | "iteration" | "transaction" | "mqtt" | "custom";
  text: string;
  count: number;
  errors: number;
  error_share: number | null;
  per_second: number;
  service: Stats | null;
  /** Only where the schedule set the intended start of every request. */
  response: Stats | null;
  /** Of an iteration or a transaction. */
  iteration: Stats | null;
  /** The same without its pauses, where it has some. */
  unpaused?: Stats;
  codes: Record<string, number>;
  none: Record<string, number>;
  bytes_out: number;
  bytes_in: number;
}

export interface Judged {
  text: string;
  judgement: "PASS" | "FAIL" | "INCONCLUSIVE";
  /** In words with its unit. */
  measured: string | null;
  value: number | null;
  /** Distance from the bound as a share of it; positive on the side that holds. */
  margin: number | null;
  reason: string | null;
  /** When the criterion first did not hold for a point of the series, judged alone; null: never, or it cannot be judged so. */
  first_violation_ns: number | null;
}

export interface Measurement {
  verdict: "VALID" | "DEGRADED" | "INVALID";
  reasons: string[];
  /** Stretches in which the generator was late. */
  late_ns: [number, number][];
  first_bad_ns: number | null;
  lateness_p99_ns: number | null;
  /** 99th percentile of by how much a worker came too late to look around. */
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
  /** Of a lost process: nobody knows whether they were sent. */
  unknown?: number;
  completed: number;
  /** Of them, those that ended where the plan has some leave. */
  left?: number;
  failed: number;
  abandoned: number;
  under_way: number;
  adds_up: boolean;
}

export interface Requests {
  issued: number;
  ok: number;
  failed: number;
  none: number;
  none_by_class: Record<string, number>;
  redirects: number;
  under_way: number;
  adds_up: boolean;
}

/** Whether the service settled under a load that stayed the same, and from when on. */
export interface Steady {
  behaviour: "steady" | "warming_up" | "drifting" | "shifting" | "overload" | "unknown";
  /** The same in words. */
  sentence: string;
  from_ns: number;
  to_ns: number;
  /** The end of the warm-up; null: it never settled, or that cannot be said. */
  settled_ns: number | null;
}

/** Which of the resources that were measured during the load reached their limits. */
export interface Saturation {
  /** In the order in which they did. */
  reached: Reached[];
  /** Index into `reached`; null: nothing did, or nobody can tell which was first. */
  first: number | null;
  /** The same in words. */
  sentence: string;
  /** Resources whose limits are known. */
  watched: string[];
}

/** A route of a service that the plan put behind its target: what was asked of it, and what it did. */
export interface MockRow {
  mock: string;
  route: string;
  received: number;
  /** Answers by status. */
  codes: Record<string, number>;
  resets: number;
  silent: number;
  /** The recorded requests that its times are taken from. */
  from?: string;
  times: { what: string; asked_ns: number | null; due_ns: number; served_ns: number }[];
  off: number | null;
  late_p99_ns: number | null;
  capacity?: { workers: number; per_second: number; utilisation: number };
}

export interface Reached {
  resource: string;
  source: string;
  metric: string;
  limit: string;
  instances: number;
  of: number;
  at_ns: number;
  held_ns: number;
  issued_per_second: number | null;
  cause: string | null;
}

/** How the target came back to rest. */
export interface Recovery {
  after_load: AfterLoad | null;
  peak: Peak | null;
}

/** What was left when the load ended. */
export interface AfterLoad {
  from_ns: number;
  /** Requests under way at that moment. */
  under_way: number;
  /** From then to the last completion. */
  drained_ns: number;
  /** Requests that ended after it, and those of them in error. */
  ended: number;
  errors: number;
  p95: Figure | null;
}

/** How fast answers were after the phase with the highest load, beside how fast they were before it. */
export interface Peak {
  /** Index into `summary.phases`. */
  phase: number;
  end_ns: number;
  /** Requests begun in it and answered in it, per second. */
  issued_per_second: number;
  answered_per_second: number;
  /** Requests under way at its end. */
  under_way: number;
  before: Figure;
  /** A p95 and a share of errors up to these are as before. */
  bound_ns: number;
  error_bound: number;
  /** 0: at once. Null: it was not as before for 10 s, or that cannot be said. */
  settled_ns: number | null;
  /** Until no more requests were under way than before. */
  drained_ns: number | null;
  looked_ns: number;
  slow_to_the_end: boolean;
  is_metastable: boolean;
}

/** A scenario's plan against what came of it. */
export interface ScenarioRow {
  id: number | null;
  name: string;
  /** Its share of the arrivals by weight. */
  share: number | null;
  /** Arrivals planned; null in a closed loop. */
  planned: number | null;
  planned_per_hour: number | null;
  planned_per_second: number | null;
  /** Iterations that ended, in whatever way. */
  ended: number;
  completed: number;
  failed: number;
  /** Still under way when the run ended; null while it goes on. */
  unfinished: number | null;
  completed_per_hour: number;
  completed_per_second: number;
  /** Completed as a share of planned. */
  of_plan: number | null;
}

/** A phase's plan against what came of it. */
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
  /** Requests that ended, of those intended in the phase. */
  requests: number;
  errors: number;
  /** Requests by the phase's length. */
  per_second: number;
  /** Response, iteration or service time, whichever is the run's headline. */
  p95: Figure | null;
  p99: Figure | null;
}

/** The first sample of an error. */
export interface FirstError {
  label: number;
  reason: string;
  detail: string;
  /** Of what was looked for in the answer, what is not as it has to be. */
  found?: string[];
  /** The beginning of the answer's body. */
  body?: string;
  status: number | null;
  intended_ns: number;
  first_write_ns?: number | null;
  done_ns: number;
}

export interface ErrorRow {
  reason: string;
  /** `failed` (an answer came), or the class of the missing answer: timeout reset refused tls dns protocol generator unfinished. */
  class: string;
  count: number;
  labels: number[];
  /** The same label by label. */
  by_label?: { label: number; count: number; first: FirstError | null }[];
  first: FirstError | null;
  /** The end of the last second in which it came. */
  last_ns: number | null;
}

/** A figure with its name, in words. */
export interface Deciding {
  name: string;
  value: string;
  note: string | null;
}

/** A sentence that a rule wrote, with the figures that it stands on. */
export interface Conclusion {
  /** `finding` (what was seen), `cause`, `limit`, `advice`. */
  kind: string;
  /** `good`, `neutral`, `bad`. */
  tone: "good" | "neutral" | "bad";
  text: string;
  /** Where its figures stand in summary.json: `all.service.p99`. */
  figures: string[];
}

export interface Summary {
  schema: number;
  run: {
    name: string;
    target: string;
    door: string;
    started_utc: string;
    started_wall_ns: number;
    state: "running" | "complete" | "interrupted";
    ended_by: string | null;
    /** The stop rule that ended it, with what was measured. */
    stopped?: { at_ns: number; text: string };
    model: "open" | "closed" | "once";
    load: string;
    elapsed_ns: number;
    /** The tool that measured, where it was not Loadline: its times stand as service times. */
    imported_from?: string | null;
    version: string;
    /** None of imported runs. */
    workers?: number;
    seed?: number;
    /** Where a record ends that does not hold its run: all figures are of what is before that. */
    record_ends_ns?: number | null;
  };
  /** The first thing to read: PASS, FAIL, INCONCLUSIVE (all criteria together), or null without criteria. */
  verdict: {
    criteria: "PASS" | "FAIL" | "INCONCLUSIVE" | null;
    /** One sentence. */
    sentence: string;
    /** The figures that decided it: of criteria, and of the generator where the measurement is invalid. */
    figures: Deciding[];
    /** What everybody looks for first. */
    glance?: Deciding[];
    /** Which conclusions tell most: places in `conclusions`. */
    telling?: number[];
  };
  criteria: Judged[];
  measurement: Measurement | null;
  exit_code: number;
  arrivals: Arrivals | null;
  requests: Requests;
  phases: PhaseRow[];
  scenarios: ScenarioRow[];
  /** Records of before have none. */
  steady?: Steady | null;
  recovery: Recovery | null;
  saturation?: Saturation | null;
  mocks?: MockRow[];
  nodes?: NodeRow[];
  all: Row;
  labels: Row[];
  iterations: Row[];
  transactions?: Row[];
  confidence: {
    of: string;
    time: string;
    percentile: string;
    ns: number;
    low_ns: number;
    high_ns: number | null;
    samples: number;
    effective: number;
    rough: boolean;
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
  /** What was taken for granted, a sentence each. */
  assumptions: string[];
  notes: string[];
  record: string | null;
}

/** A column: a value per point; null where there is none. */
export type Column = (number | null)[];

/** p50, p95, p99 and the largest of a time, in nanoseconds. */
export interface Times {
  p50: Column;
  p95: Column;
  p99: Column;
  max: Column;
}

/** One metric of something beside the load; of several of a kind, one. */
export interface Panel {
  name: string;
  of?: string | null;
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
 * The run over time: at most 720 points of `width_ns` each. All columns are as long as `from_ns`. Points are cut at whole seconds of
 * the wall clock, so that the first and the last are shorter; rates are the count by the point's own length.
 */
export interface Series {
  schema: number;
  width_ns: number;
  points: {
    from_ns: number[];
    to_ns: number[];
    /** Index into `summary.phases` of the phase at the point's start. */
    phase: number[];
    /** Arrivals due, by the plan (0 in a closed loop). */
    due: number[];
    started: number[];
    skipped: number[];
    /** Requests begun; ended with the right answer, a wrong one, none. */
    issued: number[];
    ok: number[];
    failed: number[];
    none: number[];
    /** Answers by the status' class. */
    status_1xx: number[];
    status_2xx: number[];
    status_3xx: number[];
    status_4xx: number[];
    status_5xx: number[];
    /** Requests that failed or had no answer, by class; a request is in exactly one. */
    errors: Record<string, number[]>;
    bytes_out: number[];
    bytes_in: number[];
    response: Times;
    service: Times;
    iteration: Times;
    lateness: Times;
    wait: Times;
    /** Requests under way, by samples: mean and largest. */
    in_flight: Column;
    in_flight_max: Column;
    /** The same by Little's law: requests ended × the time that each was under way for, by the point's length. */
    littles_law: Column;
    users: Column;
    connections_open: number[];
    connections_opened: number[];
    /** Shares of a core, a column per worker: work without spinning; spinning; ready to run and waiting for a CPU; steal. */
    worker_cpu: Column[];
    worker_spin: Column[];
    worker_waiting: Column[];
    worker_steal: Column[];
    /** The longest time by which a worker came too late to look, in nanoseconds. */
    stall_ns: number[];
    /** Share of the time for which the control group kept the generator from running. */
    throttled: number[];
  };
  /** Where the latency of answers lies over time. Column i covers points i × every up to (i + 1) × every. */
  heat: {
    /** `response`, `iteration` or `service`: the run's headline. */
    time: string;
    every: number;
    /** Rows: values from `bounds_ns[r]` up to `bounds_ns[r + 1]`. */
    bounds_ns: number[];
    /** Per column: [row, count, row, count, …], only rows that hold something. */
    columns: number[][];
  };
  /** The whole run's distribution. */
  distribution: {
    /** What it is of: `response`, `iteration`, `service`. */
    time: string;
    count: number;
    unanswered: number;
    /** [share of all at or below, nanoseconds], up to the last answered one. */
    curve: [number, number][];
    /** [from, to, count] in nanoseconds, logarithmic cells, only those that hold something. */
    density: [number, number, number][];
  }[];
  /** By label: its course in at most 60 points, and what its row opens to. */
  labels: {
    id: number;
    /** The time that its percentiles are of; null where nobody answers. */
    time: string | null;
    from_ns: number[];
    to_ns: number[];
    count: number[];
    errors: number[];
    p50: Column;
    p95: Column;
    p99: Column;
    /** How it is spread over the whole run: [from, to, count], only cells that hold something. */
    density: [number, number, number][];
    /** What was measured of it beside the times of its row. */
    times: { time: string; count: number; p50: Figure; p95: Figure; p99: Figure; max: Figure }[];
    /** By phase of the load, where there are several: of what was intended in it. */
    phases?: {
      phase: number;
      count: number;
      errors: number;
      p50: Figure | null;
      p95: Figure | null;
      p99: Figure | null;
    }[];
  }[];
  /** In the order of `summary.criteria`: for each point whether the criterion held for it alone; null: it cannot be said. */
  criteria_timeline: (boolean | null)[][];
  /** Present where something was measured during the load: a column per series, in the order of points. */
  server?: Panel[];
  /** Of these what never changed. */
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
  door: string;
  stop: string[];
  /** What the test is for, in its owner's words. */
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

/** What the live view is sent once a second: `series.points` and `criteria_timeline` hold only the points from index `from` on. */
export interface Tick {
  summary: Summary;
  series: Series;
  from: number;
}

/** What the live view is sent beside that: what the newest interval was like, and the log. */
export interface Now {
  newest: Newest;
  /** The newest lines, the oldest of them first; so many older ones are left out. */
  log: { lines: LogLine[]; left_out: number };
  load: Steering;
}

/** What may be changed of a running test's load: its rate per second or its users, what they are and at most; or why nothing may. */
export type Steering = { what: "rate" | "users"; value: number; most: number } | { what: null; why: string };

export interface Newest {
  /** The interval's start and end; the end is how far the test is. */
  span_ns: [number, number];
  /** When the load ends; 0: that is not known. */
  end_ns: number;
  /** Where there are several. */
  phase: { name: string; number: number; of: number } | null;
  closed: boolean;
  /** Null before there was an interval. */
  answered_per_second: number | null;
  /** At the interval's end. */
  in_flight: number;
  users: number;
  /** What the percentile is of: `response`, `iteration`, `service`. */
  time: string;
  p95: Figure | null;
  ended: number;
  errors: number;
  error_share: number | null;
  errors_so_far: number;
  /** Those that came last first. */
  kinds: NewestError[];
  kinds_left_out: number;
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
  /** `message` (the test's own), `remark`, `warning`, `error`, `phase`, `load`, `stop`. */
  kind: string;
  text: string;
}

/** How a node of a run did that several machines carry out. */
export interface NodeRow {
  node: number;
  name: string;
  state: "up" | "silent" | "lost" | "over";
  rate: number;
  requests: number;
  cpu: number;
  lateness_p99_ns: number | null;
  response_p99_ns: number | null;
  response_p95_within_ns: [number, number] | null;
  offset_ns: number | null;
  offset_error_ns: number;
}
