// Figures, rows and ledgers of a summary.

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

/** Figures of the streamed responses of a row. */
export interface StreamRow {
  /** Ended requests whose response should be a stream, and those with a complete stream. */
  requests: number;
  complete: number;
  first_event: Stats | null;
  first_event_service: Stats | null;
  ttft: Stats | null;
  ttft_service: Stats | null;
  gap: Stats | null;
  per_token: Stats | null;
  events: number;
  chunks: number;
  tokens: number;
  /** Complete streams in which the server reported the number of tokens. */
  reporting: number;
  /** The part of `tokens` that are events with content. */
  unreported_tokens: number;
  tokens_per_second: number;
  /** Share of the events with content that arrived alone in a read. */
  alone_share: number | null;
}

/** Requests within the bounds of a goodput. */
export interface GoodputRow {
  bounds: string[];
  good: number;
  of: number;
  share: number | null;
  per_second: number;
}

/** A row: an endpoint, a scenario's iterations, a group's transactions, or all requests (id 0). */
export interface Row {
  id: number;
  group: "request" | "iteration" | "transaction" | "mqtt" | "websocket" | "socketio" | "custom";
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
  /** Figures of streamed responses, if the row has any. */
  stream?: StreamRow;
  codes: Record<string, number>;
  none: Record<string, number>;
  bytes_out: number;
  bytes_in: number;
  /** Percentiles that only criteria name, by time and name: `response`, `p75`. */
  judged_percentiles?: Record<string, Record<string, Figure>>;
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
  /** A threshold of the script, judged by the rules of the script's own tool. */
  is_of_script?: boolean;
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
