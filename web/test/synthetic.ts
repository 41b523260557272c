// Runs computed from formulas: consistent pages without randomness. fixtures.ts defines the runs.

import type { Column, Figure, Row, Series, Stats, Times } from "../src/types";

/** A run's behaviour as functions of the second. */
export interface Shape {
  seconds: number;
  /** Arrivals planned and requests issued per second; requests per arrival. */
  due: (t: number) => number;
  issued: (t: number) => number;
  steps: number;
  /** Median service time in ns, and what queueing adds to the response. */
  service: (t: number) => number;
  queue: (t: number) => number;
  /** Share of requests answered with 503, and without any answer. */
  failed: (t: number) => number;
  none: (t: number) => number;
  /** Median lateness in ns. */
  late: (t: number) => number;
  cpu: (t: number) => number;
  workers: number;
  points: number;
}

const Z = { p50: 0, p90: 1.2816, p95: 1.6449, p99: 2.3263, p999: 3.0902, max: 3.8 };
const SPREAD = 0.45;

/** A percentile of a log-normal time. */
export function quantile(median: number, p: keyof typeof Z): number {
  return Math.round(median * Math.exp(SPREAD * Z[p]));
}

export function stats(median: number, count: number, unanswered = 0): Stats {
  const figure = (p: keyof typeof Z, share: number): Figure => {
    const beyond = Math.floor(count * (1 - share));
    if (p !== "max" && beyond < 10) {
      const ns = quantile(median, p);
      return { beyond, too_few: true, thin: { ns, low_ns: Math.round(ns * 0.9), largest_ns: quantile(median, "max") } };
    }
    if (count - beyond > count - unanswered) return { beyond, at_least_ns: 10_000_000_000 };
    return { beyond, ns: quantile(median, p) };
  };
  return {
    count,
    unanswered,
    mean_ns: count > unanswered ? median * Math.exp((SPREAD * SPREAD) / 2) : null,
    min_ns: count > unanswered ? Math.round(median * 0.2) : null,
    p50: figure("p50", 0.5),
    p90: figure("p90", 0.9),
    p95: figure("p95", 0.95),
    p99: figure("p99", 0.99),
    p999: figure("p999", 0.999),
    max: unanswered > 0 ? { beyond: 0, at_least_ns: 10_000_000_000 } : { beyond: 0, ns: quantile(median, "max") },
  };
}

export function row(
  id: number,
  group: Row["group"],
  text: string,
  count: number,
  errors: number,
  seconds: number,
): Row {
  return {
    id,
    group,
    text,
    count,
    errors,
    error_share: count > 0 ? errors / count : null,
    per_second: count / Math.max(seconds, 1),
    service: null,
    response: null,
    iteration: null,
    codes: {},
    none: {},
    bytes_out: count * 245,
    bytes_in: count * 1310,
  };
}

function empty(n: number): Times {
  const nothing = (): Column => new Array(n).fill(null);
  return { p50: nothing(), p95: nothing(), p99: nothing(), max: nothing() };
}

/** The run over time. */
export function series(shape: Shape, headline: "response" | "iteration" | "service"): Series {
  const n = shape.seconds === 0 ? 0 : Math.min(shape.points, shape.seconds);
  const width = n === 0 ? 1 : shape.seconds / n;
  const at = Array.from({ length: n }, (_, i) => (i + 0.5) * width);
  const wobble = (t: number) => 1 + 0.05 * Math.sin(t * 1.7) + 0.03 * Math.sin(t * 0.61);
  const whole = (f: (t: number) => number) => at.map((t) => Math.round(f(t) * width));
  const times = (f: (t: number) => number): Times => {
    if (at.every((t) => f(t) === 0)) return empty(n);
    const of = (p: keyof typeof Z): Column =>
      at.map((t) => (shape.issued(t) > 0 ? quantile(f(t) * wobble(t), p) : null));
    return { p50: of("p50"), p95: of("p95"), p99: of("p99"), max: of("max") };
  };
  const issued = whole((t) => shape.issued(t) * wobble(t * 3));
  const none = issued.map((count, i) => Math.round(count * shape.none(at[i] ?? 0)));
  const failed = issued.map((count, i) => Math.round(count * shape.failed(at[i] ?? 0)));
  const ok = issued.map((count, i) => count - (none[i] ?? 0) - (failed[i] ?? 0));
  const response = (t: number) => shape.service(t) + shape.queue(t) + shape.late(t);
  const total =
    headline === "service"
      ? shape.service
      : headline === "response"
        ? response
        : (t: number) => response(t) * shape.steps;
  const flight = (t: number) => (shape.issued(t) * response(t)) / 1e9;
  const worker = (f: (t: number, w: number) => number) =>
    Array.from({ length: shape.workers }, (_, w) => at.map((t) => f(t, w)));
  const zero = () => at.map(() => 0);
  const every = Math.max(1, Math.ceil(n / 360));
  return {
    schema: 2,
    width_ns: Math.round(width * 1e9),
    points: {
      from_ns: at.map((_, i) => Math.round(i * width * 1e9)),
      to_ns: at.map((_, i) => Math.round((i + 1) * width * 1e9)),
      phase: at.map((t) => (t < shape.seconds / 3 ? 0 : 1)),
      due: whole(shape.due),
      started: whole((t) => Math.min(shape.due(t), shape.issued(t) / shape.steps)),
      skipped: zero(),
      issued,
      ok,
      failed,
      none,
      errors: { "status 5xx": failed, timeout: none },
      status_1xx: zero(),
      status_2xx: ok.map((count) => Math.round(count * 0.93)),
      status_3xx: ok.map((count) => count - Math.round(count * 0.93)),
      status_4xx: failed.map((count) => Math.round(count * 0.3)),
      status_5xx: failed.map((count) => count - Math.round(count * 0.3)),
      bytes_out: issued.map((count) => count * 245),
      bytes_in: ok.map((count) => count * 1310),
      response: headline === "service" ? empty(n) : times(response),
      service: times(shape.service),
      iteration: headline === "iteration" ? times(total) : empty(n),
      lateness: times(shape.late),
      wait: times(() => 9_000),
      in_flight: at.map((t) => flight(t) * wobble(t * 5)),
      in_flight_max: at.map((t) => Math.ceil(flight(t) * 2.2 + 1)),
      littles_law: at.map(flight),
      users: at.map((t) => flight(t) * 1.4),
      connections_open: at.map((t) => Math.ceil(flight(t) * 1.5) + 4),
      connections_opened: at.map((t) => (t < 3 * width ? 9 : 0)),
      worker_cpu: worker((t, w) => shape.cpu(t) * (1 - 0.08 * w) * wobble(t + w)),
      worker_spin: worker((t) => Math.max(0, 0.2 - shape.cpu(t) / 6)),
      worker_waiting: worker((t) => shape.cpu(t) ** 4 * 0.3),
      worker_steal: worker((t) => 0.002 * (1 + Math.sin(t))),
      stall_ns: at.map((t) => Math.round(shape.late(t) * 9 * wobble(t * 7))),
      throttled: zero(),
    },
    heat: heat(headline, at, every, total, ok),
    distribution: [distribution(headline, at, total, ok, none)].concat(
      headline === "service" ? [] : [distribution("service", at, shape.service, ok, none)],
    ),
    labels: [],
    criteria_timeline: [],
    server: [],
  };
}

/** Share of a log-normal time at or below `ns`. */
function below(median: number, ns: number): number {
  return 1 / (1 + Math.exp(-1.702 * (Math.log(ns / median) / SPREAD)));
}

function heat(time: string, at: number[], every: number, total: (t: number) => number, ok: number[]): Series["heat"] {
  const bounds = Array.from({ length: 101 }, (_, i) => Math.round(10 ** (4 + i / 16)));
  const columns: number[][] = [];
  for (let first = 0; first < at.length; first += every) {
    const cells: number[] = [];
    for (let r = 0; r + 1 < bounds.length; r++) {
      let n = 0;
      for (let i = first; i < Math.min(first + every, at.length); i++) {
        const median = total(at[i] ?? 0);
        n += (ok[i] ?? 0) * (below(median, bounds[r + 1] ?? 1) - below(median, bounds[r] ?? 1));
      }
      if (Math.round(n) > 0) cells.push(r, Math.round(n));
    }
    columns.push(cells);
  }
  return { time, every, bounds_ns: bounds, columns };
}

type Distribution = Series["distribution"][number];

function distribution(
  time: string,
  at: number[],
  total: (t: number) => number,
  ok: number[],
  none: number[],
): Distribution {
  const answered = ok.reduce((a, b) => a + b, 0);
  const unanswered = none.reduce((a, b) => a + b, 0);
  const count = answered + unanswered;
  const share = (ns: number) =>
    at.reduce((sum, t, i) => sum + (ok[i] ?? 0) * below(total(t), ns), 0) / Math.max(count, 1);
  const bounds = Array.from({ length: 161 }, (_, i) => Math.round(10 ** (4 + i / 26)));
  const density: [number, number, number][] = [];
  const curve: [number, number][] = [];
  for (let i = 0; answered > 0 && i + 1 < bounds.length; i++) {
    const [from, to] = [bounds[i] ?? 1, bounds[i + 1] ?? 1];
    const n = Math.round((share(to) - share(from)) * count);
    if (n > 0) density.push([from, to, n]);
    if (n > 0 && share(to) < 1 - 0.5 / count) curve.push([share(to), to]);
  }
  return { time, count, unanswered, curve, density };
}

/** A label's series, as a share of the run's. */
export function labelSeries(run: Series, id: number, part: number, median: number): Series["labels"][number] {
  const { points } = run;
  const n = points.from_ns.length;
  const size = Math.max(1, Math.ceil(n / 60));
  const starts = Array.from({ length: Math.ceil(n / size) }, (_, i) => i * size);
  const sum = (values: number[], first: number) => values.slice(first, first + size).reduce((a, b) => a + b, 0);
  const times = (scale: number) =>
    starts.map((first) => {
      const base = points.service.p95[first] ?? null;
      return base === null ? null : Math.round(((base * median) / (points.service.p50[0] ?? median)) * scale);
    });
  const { p50, p95, p99 } = stats(median, 400);
  const quantiles = { p50, p95, p99 };
  const known = times(1).filter((ns) => ns !== null);
  return {
    id,
    time: "service",
    from_ns: starts.map((first) => points.from_ns[first] ?? 0),
    to_ns: starts.map((first) => points.to_ns[Math.min(first + size, n) - 1] ?? 0),
    count: starts.map((first) => Math.round(sum(points.issued, first) * part)),
    errors: starts.map((first) => Math.round((sum(points.failed, first) + sum(points.none, first)) * part)),
    p50: times(0.4),
    p95: times(1),
    p99: times(1.8),
    density:
      known.length === 0 ? [] : [1, 2, 3, 4, 5].map((i) => [median * i * 0.5, median * (i + 1) * 0.5, 60 - i * 9]),
    times: [{ time: "first_byte", ...stats(median * 0.8, starts.length * 40) }],
    phases: [
      { phase: 0, count: 40, errors: 0, ...quantiles },
      { phase: 1, count: 400, errors: 3, ...quantiles },
    ],
  };
}
