// The runs that the page is tested with: one of each kind, deterministic.

import type { Page, Row, Summary } from "../src/types";
import { criteria, errors, interval, manifest, phases, scenarios } from "./parts";
import { labelSeries, quantile, row, type Shape, series, stats } from "./synthetic";

interface Recipe extends Partial<Shape> {
  name: string;
  labels: string[];
  /** Scenarios; if missing, every request is an arrival, or the loop is closed. */
  iterations?: string[];
  model?: "open" | "closed";
  state?: Summary["run"]["state"];
  criteria?: Summary["verdict"]["criteria"];
  sentence: string;
  measurement?: Partial<NonNullable<Summary["measurement"]>>;
  conclusions?: Summary["conclusions"];
  panels?: boolean;
}

const SECOND = 1e9;
const SHOP = ["GET /", "GET /products", "GET /products/{{ id }}", "POST /cart", "POST /checkout"];

function page(recipe: Recipe): Page {
  const shape: Shape = {
    seconds: 120,
    due: (t) => (t < 40 ? 20 + t * 2 : 100),
    issued: (t) => recipe.due?.(t) ?? (t < 40 ? 20 + t * 2 : 100) * (recipe.steps ?? 1),
    steps: 1,
    service: () => 2_400_000,
    queue: () => 0,
    failed: () => 0,
    none: () => 0,
    late: () => 14_000,
    cpu: () => 0.22,
    workers: 1,
    points: 720,
    ...recipe,
  };
  const open = (recipe.model ?? "open") === "open";
  const headline = "response";
  const run = series(shape, headline);
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const [issued, ok, failed, none] = [run.points.issued, run.points.ok, run.points.failed, run.points.none].map(
    sum,
  ) as [number, number, number, number];
  const middle = shape.seconds * 0.6;
  const service = shape.service(middle);
  const response = service + shape.queue(middle) + shape.late(middle);

  const labels = recipe.labels.map((text, i): Row => {
    const part = (2 / (recipe.labels.length * (recipe.labels.length + 1))) * (recipe.labels.length - i);
    const made = row(
      i + 2,
      "request",
      text,
      Math.round(issued * part),
      Math.round((failed + none) * part),
      shape.seconds,
    );
    made.service = stats(service * (0.6 + 0.2 * i), made.count, Math.round(none * part));
    made.codes =
      made.count > 0
        ? { "200": made.count - made.errors, ...(failed > 0 ? { "503": Math.round(failed * part) } : {}) }
        : {};
    if (none > 0) made.none = { timeout: Math.round(none * part) };
    made.response = stats(response * (0.6 + 0.2 * i), made.count, Math.round(none * part));
    run.labels.push(labelSeries(run, made.id, part, service * (0.6 + 0.2 * i)));
    return made;
  });
  const all = row(0, "request", "all requests", issued, failed + none, shape.seconds);
  all.service = issued > 0 ? stats(service, issued, none) : null;
  if (issued > 0) all.response = stats(response, issued, none);
  all.codes = issued > none ? { "200": ok, ...(failed > 0 ? { "503": failed } : {}) } : {};
  if (none > 0) all.none = { timeout: none };
  run.labels.push(labelSeries(run, 0, 1, service));
  const iterations = (recipe.iterations ?? []).map((text, i): Row => {
    const made = row(
      900 + i,
      "iteration",
      text,
      Math.round(issued / shape.steps / (recipe.iterations?.length ?? 1)),
      0,
      shape.seconds,
    );
    made.iteration = stats(response * shape.steps * (1 + i * 0.2), made.count);
    made.bytes_in = made.bytes_out = 0;
    run.labels.push(labelSeries(run, made.id, 1 / shape.steps, service));
    return made;
  });

  const judged = criteria(recipe.criteria, response);
  // A table with one label shows its row in place of all requests.
  const shown = labels.length === 1 ? [all, ...labels] : [all];
  if (judged.length > 0) for (const row of shown) row.judged = ["response/p99"];
  run.criteria_timeline = judged.map((criterion, i) =>
    run.points.from_ns.map((ns, point) => {
      if (run.points.issued[point] === 0 || (i === 1 && point % 40 > 36)) return null;
      return criterion.first_violation_ns === null || ns < criterion.first_violation_ns || (point + i) % 17 < 4;
    }),
  );
  if (recipe.panels) {
    const over = (f: (t: number) => number) => run.points.from_ns.map((ns) => f(ns / SECOND));
    (run.server ??= []).push({ name: "CPU", unit: "%", limit: 100, values: over((t) => Math.min(99, 30 + t / 2)) });
    (run.server ??= []).push({
      name: "database connections",
      unit: "",
      limit: 50,
      values: over((t) => Math.min(50, 8 + Math.floor(t / 3))),
    });
  }
  const planned = open ? sum(run.points.due) : null;
  const started = sum(run.points.started);
  const killed = recipe.state === "running";
  const measured: Summary["measurement"] =
    issued === 0
      ? null
      : {
          verdict: "VALID",
          reasons: [],
          late_ns: [],
          first_bad_ns: null,
          lateness_p99_ns: open ? quantile(shape.late(middle), "p99") : null,
          stall_p99_ns: null,
          sent: planned === null ? null : Math.min(1, started / Math.max(planned, 1)),
          cpu: shape.cpu(middle),
          waiting: 0.012,
          littles_law: issued > 10_000 ? 0.0042 : null,
          ...recipe.measurement,
        };
  const summary: Summary = {
    schema: 2,
    run: {
      name: recipe.name,
      target: "http://127.0.0.1:8080",
      frontend: "run",
      started_utc: "2026-11-20T14:19:54.740Z",
      started_wall_ns: 1.79518439474e18,
      state: recipe.state ?? "complete",
      ended_by: null,
      model: recipe.model ?? "open",
      load: open
        ? "open, 20/s to 100/s evenly spaced over 40 s, then 100/s evenly spaced for 80 s"
        : "closed loop, 32 connections for 2 min",
      elapsed_ns: shape.seconds * SECOND,
      version: "0.1.0",
      workers: shape.workers,
      seed: 2985807265460661,
    },
    verdict: {
      criteria: recipe.criteria ?? null,
      sentence: recipe.sentence,
      question: "Does the shop answer within 50 ms at the load of a usual day, as the team promised?",
      certainty: "High: 10,000 requests were measured, and the load generator kept up.",
      advice:
        recipe.criteria === "FAIL"
          ? [
              "Enlarge the thread pool (app): it was at its limit on 2 of 2 instances after 48 s with 100 requests/s.",
              "Repeat the run after the change, or accept less load until then.",
            ]
          : ["Accept this load: all criteria hold. To find the highest load, use `loadline find`."],
      figures:
        judged.length === 0
          ? []
          : [{ name: "criterion p99", value: judged[0]?.measured ?? "–", note: "must be < 50ms" }],
      key_figures: [
        {
          name: "load",
          value: open ? "open, 20/s to 100/s evenly spaced over 40 s" : "closed loop, 32 connections",
          note: null,
        },
        ...(issued === 0
          ? []
          : [
              { name: "answered/s", value: ((ok + failed) / shape.seconds).toFixed(0), note: null },
              {
                name: "errors",
                value: `${(((failed + none) / issued) * 100).toFixed(1)} %`,
                note: `${failed + none} of ${issued}`,
              },
              { name: "p50", value: "12.0 ms", note: `${headline} time` },
              { name: "p95", value: "24.0 ms", note: null },
              { name: "p99", value: "312 ms?", note: "few samples: 280–≥ 401" },
              { name: "largest", value: "401 ms", note: null },
            ]),
      ],
      key_conclusions: (recipe.conclusions ?? []).map((_, at) => at).slice(0, 3),
    },
    criteria: judged,
    measurement: measured,
    exit_code: recipe.criteria === "FAIL" ? 1 : 0,
    arrivals: open
      ? {
          planned,
          until_stop: killed,
          started,
          skipped: 0,
          unsent: (planned ?? 0) - started,
          completed: started - (killed ? 3 : 0),
          failed: 0,
          abandoned: 0,
          in_flight: killed ? 3 : 0,
          adds_up: true,
        }
      : null,
    requests: {
      issued,
      ok,
      failed,
      none,
      none_by_class: none > 0 ? { timeout: none } : {},
      redirects: 0,
      in_flight: 0,
      adds_up: true,
    },
    phases: phases(shape, headline, open, issued, response),
    scenarios: scenarios(iterations, open, shape.seconds),
    recovery:
      open && !killed && issued > 0
        ? {
            after_load: {
              from_ns: (shape.seconds - 2) * SECOND,
              in_flight: 9,
              drained_ns: 1.8 * SECOND,
              ended: 12,
              errors: 1,
              p95: { beyond: 0, too_few: true },
            },
            peak: {
              phase: 0,
              end_ns: 40 * SECOND,
              issued_per_second: 100,
              answered_per_second: 99,
              in_flight: 4,
              before: { ns: 12_000_000, beyond: 80 },
              bound_ns: 18_000_000,
              error_bound: 0.01,
              settled_ns: 4 * SECOND,
              drained_ns: 3 * SECOND,
              observed_ns: (shape.seconds - 42) * SECOND,
              slow_until_end: false,
              is_metastable: false,
            },
          }
        : null,
    all,
    labels,
    iterations,
    confidence: issued > 1000 ? [interval(response, headline, "p50"), interval(response, headline, "p99")] : [],
    lateness: open && issued > 0 ? stats(shape.late(middle), issued) : null,
    wait: issued > 0 ? stats(9_000, issued) : null,
    connect: issued > 0 ? stats(210_000, 18) : null,
    tls: null,
    in_flight: { mean: (issued / Math.max(shape.seconds, 1)) * (response / SECOND), max: issued > 0 ? 12 : 0 },
    users: { mean: 3.2, max: 14 },
    connections_opened: issued > 0 ? 18 : 0,
    errors: errors(failed, none, labels, shape.seconds),
    conclusions: recipe.conclusions ?? [],
    assumptions: [
      "The generator and the target shared one machine.",
      "The target was warm: nothing was left out at the beginning.",
    ],
    notes: killed ? ["The record ends without an end line; totals are those of its last whole interval."] : [],
    record: ".loadline/runs/20261120T141954Z-42c0",
  };
  return { summary, series: run, manifest: manifest(summary) };
}

/** The slowdown from the 45th second on. */
const overload = (t: number) => (t < 45 ? 0 : Math.min((t - 45) * 9e6, 420e6));

export const fixtures: Record<string, () => Page> = {
  healthy: () =>
    page({
      name: "shop.yml",
      labels: SHOP,
      iterations: ["browse and buy"],
      steps: 5,
      criteria: "PASS",
      panels: true,
      sentence:
        "At 100 arrivals per second for 80 s, 99 of 100 iterations took less than 34.3 ms, well within the limit.",
      conclusions: [
        {
          kind: "finding",
          tone: "good",
          text: "The service kept up with the whole plan: 100 % of arrivals were started.",
          figures: ["arrivals.planned", "arrivals.started"],
        },
        {
          kind: "limit",
          tone: "neutral",
          text: "The slowest endpoint was POST /checkout.",
          figures: ["labels[4].service.p99", "all.service.p99"],
        },
        {
          kind: "advice",
          tone: "neutral",
          text: "Its limit was not reached; a higher rate would find it.",
          figures: ["measurement.cpu", "requests.issued"],
        },
      ],
    }),
  overloaded: () =>
    page({
      name: "shop.yml at twice the load",
      labels: SHOP,
      criteria: "FAIL",
      queue: overload,
      sentence:
        "From 48 s on the target answered more slowly than requests came: p99 grew beyond the limit of 50 ms and did not recover.",
      conclusions: [
        {
          kind: "cause",
          tone: "bad",
          text: "Requests queued: response time grew while service time stayed.",
          figures: ["all.response.p99", "all.service.p99"],
        },
      ],
    }),
  erroring: () =>
    page({
      name: "shop.yml, one instance down",
      labels: SHOP,
      criteria: "FAIL",
      failed: (t) => (t > 41 ? 0.08 : 0),
      none: (t) => (t > 44 ? 0.02 : 0),
      sentence: "From 41 s on one request in ten failed, most of them with status 503.",
      conclusions: [
        {
          kind: "finding",
          tone: "bad",
          text: "8 % of requests were answered with 503.",
          figures: ["all.error_share", "errors[0].count"],
        },
      ],
    }),
  "generator-limited": () =>
    page({
      name: "shop.yml from a small machine",
      labels: SHOP,
      criteria: "PASS",
      late: (t) => (t > 50 && t < 90 ? 42e6 : 20_000),
      cpu: (t) => (t > 50 && t < 90 ? 0.98 : 0.5),
      workers: 2,
      measurement: {
        verdict: "INVALID",
        reasons: ["generator CPU-bound at 50.0-90.0 s: lateness p99 118 ms"],
        late_ns: [[50 * SECOND, 90 * SECOND]],
        first_bad_ns: 50 * SECOND,
      },
      sentence: "The generator was late from 50 s to 90 s, so these figures are not the target's alone.",
    }),
  closed: () =>
    page({
      name: "wrk, 32 connections",
      labels: ["GET /"],
      model: "closed",
      due: () => 0,
      issued: () => 31_000,
      service: () => 980_000,
      late: () => 0,
      workers: 2,
      cpu: () => 0.91,
      measurement: {
        verdict: "DEGRADED",
        reasons: ["generator-bound: a worker used 91 % of a core; throughput is a lower bound"],
      },
      sentence:
        "32 connections drew 31,000 requests per second; the generator was at its limit, so the target may do more.",
    }),
  empty: () => page({ name: "nothing happened", labels: [], seconds: 0, sentence: "Nothing was requested." }),
  single: () =>
    page({
      name: "once",
      labels: ["GET /health"],
      seconds: 1,
      due: () => 1,
      issued: () => 1,
      sentence: "One request was sent and answered.",
    }),
  "all-errors": () =>
    page({
      name: "unreachable",
      labels: SHOP.slice(0, 2),
      criteria: "FAIL",
      none: () => 1,
      sentence: "No request was ever answered.",
    }),
  killed: () =>
    page({
      name: "shop.yml, cut off",
      labels: SHOP,
      state: "running",
      seconds: 37,
      sentence: "The run was cut off after 37 s.",
    }),
  huge: () =>
    page({
      name: `an hour of everything, ${"with a very long name ".repeat(8)}<img src=x onerror=alert(1)>`,
      labels: Array.from({ length: 200 }, (_, i) => {
        if (i === 3) return '<script>document.title="owned"</script>';
        if (i === 4) return `GET /a/${"very-long-segment-without-a-break".repeat(6)}`;
        return `${["GET", "POST", "PUT", "DELETE"][i % 4]} /api/v2/resource-${i}/{{ id }}?expand=all`;
      }),
      iterations: ["everything", "</script><script>document.title='owned'</script>"],
      seconds: 3600,
      steps: 12,
      workers: 8,
      criteria: "PASS",
      failed: (t) => (t % 900 > 860 ? 0.02 : 0),
      service: (t) => 2_400_000 * (1 + 0.5 * Math.sin(t / 300)),
      sentence: "An hour at 100 arrivals per second, within the limit throughout.",
    }),
};
