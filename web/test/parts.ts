// The parts of a fixture's summary that follow from its figures: criteria, phases, errors,
// intervals, and the manifest.

import type { ErrorRow, Judged, Page, PhaseRow, Row, ScenarioRow, Summary } from "../src/types";
import { quantile, type Shape } from "./synthetic";

const SECOND = 1e9;

export function criteria(verdict: Summary["verdict"]["criteria"] | undefined, response: number): Judged[] {
  if (!verdict) return [];
  const p99 = quantile(response, "p99");
  const bad = verdict === "FAIL";
  const shown = `${(p99 / 1e6).toFixed(1)} ms`;
  const first = bad ? 48 * SECOND : null;
  return [
    {
      text: "p99 < 50ms",
      judgement: verdict,
      measured: shown,
      value: p99,
      figure: "/all/response/p99",
      margin: 1 - p99 / 50e6,
      reason: null,
      first_violation_ns: first,
    },
    {
      text: 'service p95 of "POST /checkout" in "steady" < 400ms',
      judgement: bad ? "INCONCLUSIVE" : "PASS",
      measured: "5.11 ms",
      value: 5_110_000,
      margin: 0.987,
      reason: bad ? "too few samples: about 40 more seconds would decide it" : null,
      first_violation_ns: null,
    },
  ];
}

export function phases(shape: Shape, headline: string, open: boolean, issued: number, response: number): PhaseRow[] {
  if (shape.seconds === 0) return [];
  const cut = Math.round(shape.seconds / 3) * SECOND;
  const end = shape.seconds * SECOND;
  const make = (name: string, text: string, start: number, end: number, part: number, slower: number): PhaseRow => ({
    name,
    text,
    start_ns: start,
    end_ns: end,
    planned: open ? Math.round((issued / shape.steps) * part) : null,
    started: open ? Math.round((issued / shape.steps) * part) : null,
    requests: Math.round(issued * part),
    errors: Math.round(issued * part * shape.failed(end / SECOND)),
    per_second: (issued * part) / ((end - start) / SECOND),
    p95: headline === "none" ? null : { ns: quantile(response * slower, "p95"), beyond: 400 },
    p99: issued * part > 1000 ? { ns: quantile(response * slower, "p99"), beyond: 80 } : { beyond: 3, too_few: true },
  });
  if (cut === 0) return [make("1", "once", 0, end, 1, 1)];
  return [
    make("ramp up", "20/s to 100/s evenly spaced over 40 s", 0, cut, 0.23, 0.8),
    make("steady", "100/s evenly spaced for 80 s", cut, end, 0.77, 1),
  ];
}

/** A row per scenario, as if every arrival had completed. */
export function scenarios(iterations: Row[], open: boolean, seconds: number): ScenarioRow[] {
  return iterations.map((row) => {
    const rate = row.count / Math.max(seconds, 1);
    return {
      id: row.id,
      name: row.text,
      share: 1 / iterations.length,
      planned: open ? row.count : null,
      planned_per_hour: open ? rate * 3600 : null,
      planned_per_second: open ? rate : null,
      ended: row.count,
      completed: row.count,
      failed: 0,
      unfinished: 0,
      completed_per_hour: rate * 3600,
      completed_per_second: rate,
      of_plan: open ? 1 : null,
    };
  });
}

export function interval(response: number, time: string, percentile: "p50" | "p99"): Summary["confidence"][number] {
  const ns = quantile(response, percentile);
  const [low_ns, high_ns] = [Math.round(ns * 0.97), Math.round(ns * 1.04)];
  return {
    label: "all requests",
    time,
    percentile,
    ns,
    low_ns,
    high_ns,
    samples: 10_400,
    effective: 6_200,
    approximate: false,
  };
}

/** A cause's count, all under its first label. */
function byLabel(ids: number[], count: number, first: ErrorRow["first"]): ErrorRow["by_label"] {
  return ids.slice(0, 1).map((label) => ({ label, count, first }));
}

export function errors(failed: number, none: number, labels: Row[], seconds: number): ErrorRow[] {
  const all: ErrorRow[] = [];
  const ids = labels.map((label) => label.id);
  const first = (reason: string, detail: string, status: number | null, at: number): ErrorRow["first"] => ({
    label: ids[0] ?? 0,
    reason,
    detail,
    status,
    intended_ns: at,
    done_ns: at + 3_000_000,
  });
  const last_ns = seconds * SECOND;
  if (failed > 0) {
    const sample = first(
      "status 503",
      'HTTP/1.1 503 Service Unavailable: {"error":"pool exhausted","token":"‹redacted:9f86d0›"}',
      503,
      41.2 * SECOND,
    );
    all.push({
      reason: "status 503",
      class: "failed",
      count: failed,
      labels: ids,
      by_label: byLabel(ids, failed, {
        ...sample,
        mismatches: ['$.state is "refused", expected "paid"'],
        body: '{"error":"pool exhausted"}',
      } as ErrorRow["first"]),
      first: sample,
      last_ns,
    });
  }
  if (none > 0) {
    const sample = first("response timeout", "no complete answer within 10 s", null, 44.7 * SECOND);
    all.push({
      reason: "response timeout",
      class: "timeout",
      count: none,
      labels: ids.slice(0, 2),
      by_label: byLabel(ids.slice(0, 2), none, sample),
      first: sample,
      last_ns,
    });
  }
  return all;
}

export function manifest(summary: Summary): Page["manifest"] {
  return {
    tool: { name: "loadline", version: "0.1.0" },
    command: ["loadline", "run", "shop.yml", "--target", "http://127.0.0.1:8080", "--check", "p99 < 50ms"],
    frontend: "run",
    stop: ["errors > 50% for 10s: stop fail"],
    start: { utc: summary.run.started_utc, wall_ns: summary.run.started_wall_ns },
    end: summary.run.state === "running" ? null : { ns: summary.run.elapsed_ns, reason: null },
    files: [
      { path: "shop.yml", sha256: "51ae1a74b863bb70c0e973aec2712ed5b0978cb97723c63d529c3410964572b5", bytes: 1092 },
    ],
    git: "4842b9e13243c7b0b085c21939407912a89e0d33",
    host: {
      name: "build-7",
      kernel: "6.18.44",
      cpu: "AMD EPYC",
      cpus: 2,
      memory_bytes: 25_276_502_016,
      clock_source: "tsc",
      open_files_limit: "20000 20000",
      local_ports: "32768 60999",
      cgroup_cpu: null,
      cgroup_memory: null,
    },
  };
}
