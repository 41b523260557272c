// The summary, with its rows of phases, scenarios, nodes, mocks and custom metrics.

import type { Arrivals, Figure, GoodputRow, Judged, Measurement, Requests, Row, Stats } from "./figures";
import type { Conclusion, Deciding, ErrorRow, Recovery, Saturation, Steady } from "./findings";

/** Published messages, and their deliveries to receivers of one kind. */
export interface DeliveryRow {
  /** `listeners` (of WebSocket connections) or `mqtt` (subscribers). */
  receivers: string;
  /** Missing for MQTT, where each subscription counts. */
  planned?: number | null;
  connected: number;
  /** Receivers whose connection ended before the run did. */
  left: number;
  published: number;
  refused: number;
  unknown: number;
  /** Null if some clients did not report; then `lost` is unknown as well. */
  expected: number | null;
  received: number;
  lost: { least: number; most: number } | null;
  duplicates: number;
  out_of_order: number;
  /** Null for MQTT. */
  not_due: number | null;
  received_not_due: number;
  receivers_with_losses: number;
  foreign: number;
  unstamped: number;
}

/** A metric that the test's script reported. */
export interface CustomRow {
  name: string;
  kind: "counter" | "histogram" | "rate" | "error" | "sum" | "gauge" | "share" | "check";
  /** Sum of a counter, or number of values, events, errors or evaluations. */
  count: number;
  per_second: number;
  /** Statistics by name; `share` is from 0 to 1. */
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

/** Plan and result of a scenario. */
export interface ScenarioRow {
  id: number | null;
  name: string;
  /** Its workload; missing if the plan has a single load. */
  workload?: string;
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

/** Plan and result of a workload: one of several loads on one timeline. */
export interface WorkloadRow {
  name: string;
  model: "open" | "closed";
  /** The load in words. */
  text: string;
  start_ns: number;
  end_ns: number;
  /** Arrivals planned; null in a closed loop, or if the record does not have the number. */
  planned: number | null;
  /** Largest number of users; null for arrivals. */
  users: number | null;
  /** Iterations that ended, with any result. */
  ended: number;
  completed: number;
  failed: number;
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

/** WebSocket connections and messages. */
export interface WebSocketCounts {
  opened: number;
  refused: number;
  open: number;
  closed_here: number;
  /** Connections that the server closed, by close code. */
  closed_by_server: Record<string, number>;
  lost: number;
  sent: number;
  received: number;
  unclaimed: number;
  pings: number;
  bytes_sent: number;
  bytes_received: number;
}

/** Sessions and events of Socket.IO. */
export interface SocketIoCounts {
  opened: number;
  refused: number;
  upgraded: number;
  not_upgraded: number;
  open: number;
  closed_here: number;
  closed_by_server: number;
  lost: number;
  ping_timeouts: number;
  sent: number;
  received: number;
  acknowledged: number;
  unclaimed: number;
  pings: number;
  polls: number;
  refused_polls: number;
}

/** Connections and streams of HTTP/2. */
export interface Http2 {
  opened: number;
  /** Closed connections by cause. */
  closed: Record<string, number>;
  connections: { mean: number; max: number };
  requests_per_connection: { connections: number; min: number; mean: number; max: number } | null;
  streams: { mean: number; max: number };
  stream_limit: number | null;
  /** Requests that waited for a stream, and how long. */
  waited: number;
  stream_wait: Stats | null;
  resent: number;
  lost_requests: number;
  resets_received: Record<string, number>;
  resets_sent: Record<string, number>;
  goaways: Record<string, number>;
  upload_blocked_ns: number;
  header_bytes: { sent: number; sent_compressed: number; received: number; received_compressed: number };
  /** What requests waited for. */
  sentence: string | null;
}

/** Requests that carried a trace context. */
export interface Traces {
  sampling: string;
  requests: number;
  share: number | null;
  /** By label, slowest first. */
  slowest: SlowRequest[];
  sentence: string;
}

export interface SlowRequest {
  label: number;
  text: string;
  trace_id: string;
  span_id: string;
  url?: string;
  response_ns: number;
  service_ns: number | null;
  intended_ns: number;
  status: number | string | null;
  reason?: string;
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
    model: "open" | "closed" | "mixed" | "once";
    load: string;
    /** What servers negotiated; missing if only HTTP/1.1 was possible. */
    http?: string;
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
  /** Missing if the plan has a single load. */
  workloads?: WorkloadRow[];
  /** Missing in records of older versions. */
  steady?: Steady | null;
  recovery: Recovery | null;
  saturation?: Saturation | null;
  goodput?: GoodputRow[];
  custom?: CustomRow[];
  deliveries?: DeliveryRow[];
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
  http2?: Http2;
  websocket?: WebSocketCounts;
  socketio?: SocketIoCounts;
  traces?: Traces;
  errors: ErrorRow[];
  conclusions: Conclusion[];
  /** Assumptions, one sentence each. */
  assumptions: string[];
  notes: string[];
  record: string | null;
}
