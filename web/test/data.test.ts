// Drawings and planes from pages, axes, stacks.

import { describe, expect, test } from "vitest";
import { above, below, linearEnds, logEnds, logTicks, moment } from "../src/charts/axes";
import { fullness, stretches } from "../src/charts/cells";
import { tick } from "../src/charts/drawing";
import { lineSeries, lonely } from "../src/charts/plot_options";
import { customMetric, drawable, keyOf } from "../src/data/custom";
import { perSecond, positive, stack, sum } from "../src/data/columns";
import { heat, latency } from "../src/data/latency";
import { concurrency, cpu, timeline, lateness, serverPanel, stalls } from "../src/data/levels";
import { curve, density, offered, saturation } from "../src/data/planes";
import { arrivals, connections, errors, requests, throughput, traffic } from "../src/data/rates";
import { chosen } from "../src/sections/traces";
import type { Page } from "../src/types";
import { fixtures } from "./fixtures";

const page = (name: string): Page => {
  const make = fixtures[name];
  if (!make) throw new Error(name);
  return make();
};
const DRAWINGS = {
  arrivals,
  requests,
  errors,
  throughput,
  traffic,
  connections,
  latency,
  heat,
  concurrency,
  cpu,
  timeline,
  lateness,
  stalls,
};

test("rates are the count by the point's own length", () => {
  const run = page("healthy");
  run.series.points.from_ns = [0, 500_000_000, 1_500_000_000, 1_500_000_000];
  run.series.points.to_ns = [500_000_000, 1_500_000_000, 1_500_000_000, 2_500_000_000];
  expect(perSecond(run, [10, 10, 10, 10])).toEqual([20, 10, null, 10]);
});

test("sums, stacks and logarithmic columns keep gaps", () => {
  expect(sum([1, null, null], [2, 3, null])).toEqual([3, 3, null]);
  expect(
    stack([
      [1, 2],
      [10, null],
      [100, 100],
    ]),
  ).toEqual([
    [1, 2],
    [11, 2],
    [111, 102],
  ]);
  expect(positive([0, 1, null])).toEqual([null, 1, null]);
  expect(lonely([1, null, 2, 3, null, 4])).toEqual([0, 5]);
});

describe("drawings", () => {
  test.each(Object.keys(fixtures))("%s: every column is as long as the run", (name) => {
    const run = page(name);
    const n = run.series.points.from_ns.length;
    for (const draw of Object.values(DRAWINGS)) {
      for (const line of draw(run)?.lines ?? []) {
        expect(line.column.length).toBe(n);
        expect((line.drawn ?? line.column).length).toBe(n);
        line.say?.(Math.max(0, n - 1), 1e6);
      }
    }
  });

  test("an empty run draws nothing", () => {
    const run = page("empty");
    for (const draw of Object.values(DRAWINGS)) expect(draw(run)).toBeNull();
    for (const draw of [density, curve, offered, saturation]) expect(draw(run)).toBeNull();
    expect(serverPanel(run, "host.cpu")).toBeNull();
  });

  test("series of one metric share a panel and the bound of one of them", () => {
    const run = page("healthy");
    const values = run.series.points.from_ns.map((_, i) => i);
    const panel = (instance: string, limit: number | null) => ({
      name: "puma.backlog",
      instance,
      unit: "",
      limit,
      values,
    });
    run.series.server = [panel("0", null), panel("1", 50), { ...panel("2", null), values: values.map(() => null) }];
    const drawing = serverPanel(run, "puma.backlog");
    expect(drawing?.lines.map((line) => line.name)).toEqual(["0", "1"]);
    expect(drawing?.level?.value).toBe(50);
  });

  test("custom metrics are rates per second, or percentiles", () => {
    const run = page("healthy");
    const n = run.series.points.from_ns.length;
    const [counts, none] = [new Array<number>(n).fill(3), new Array<number>(n).fill(0)];
    const sizes = new Array<number>(n).fill(-2.5);
    run.series.custom = [
      { name: "orders", kind: "counter", count: counts },
      { name: "orders", kind: "histogram", count: counts, p50: sizes, p95: sizes },
      { name: "lost carts", kind: "error", count: counts },
      { name: "never", kind: "counter", count: none },
      { name: "status is 200", kind: "check", count: counts, mean: sizes },
      { name: "queue", kind: "gauge", count: counts, mean: sizes },
    ];
    const shown = drawable(run).map(keyOf);
    expect(shown).toEqual([
      "counter orders",
      "histogram orders",
      "error lost carts",
      "check status is 200",
      "gauge queue",
    ]);
    const [counter, histogram, error, check, gauge] = shown.map((key) => customMetric(run, key));
    expect(counter?.unit).toBe("rate");
    expect(counter?.lines.map((line) => line.column)).toEqual([perSecond(run, counts)]);
    expect(histogram?.lines.map((line) => [line.name, line.column])).toEqual([
      ["p95", sizes],
      ["p50", sizes],
    ]);
    expect(histogram?.log).toBeUndefined();
    expect(error?.lines[0]?.colour).toBe("red");
    expect([check?.unit, check?.lines[0]?.name, gauge?.unit]).toEqual(["share", "share", "number"]);
    expect(gauge?.lines[0]?.column).toEqual(sizes);
    expect(customMetric(run, "counter never")).toBeNull();
    run.series.custom = undefined;
    expect(drawable(run)).toEqual([]);
  });

  test("headline time is solid, service time dotted", () => {
    const lines = latency(page("overloaded"))?.lines ?? [];
    expect(lines.filter((l) => l.style === "line").map((l) => l.name)).toEqual([
      "response max",
      "response p99",
      "response p95",
      "response p50",
    ]);
    expect(lines.filter((l) => l.style === "dotted")).toHaveLength(4);
    const told = page("closed");
    told.summary.all.response = null;
    expect(latency(told)?.lines.every((l) => l.name.startsWith("service") && l.style === "line")).toBe(true);
  });

  test("late periods are shaded, in seconds", () => {
    expect(latency(page("generator-limited"))?.shaded).toEqual([[50, 90]]);
  });

  test("warm-up is marked before a steady state", () => {
    const run = page("healthy");
    const steady = { behaviour: "steady" as const, sentence: "It was.", from_ns: 2e9, to_ns: 60e9, settled_ns: 12e9 };
    run.summary.steady = steady;
    expect(latency(run)?.warmUp).toEqual([2, 12]);
    run.summary.steady = { ...steady, settled_ns: 2e9 };
    expect(latency(run)?.warmUp).toBeUndefined();
    run.summary.steady = { ...steady, behaviour: "drifting", settled_ns: null };
    expect(latency(run)?.warmUp).toBeUndefined();
    run.summary.steady = null;
    expect(latency(run)?.warmUp).toBeUndefined();
  });

  test("outcomes are stacked, highest first, with their own values", () => {
    const drawing = throughput(page("erroring"));
    expect(drawing?.lines.map((l) => l.name)).toEqual(["no answer", "failed", "answered as expected"]);
    const [top, base] = [drawing?.lines[0], drawing?.lines.at(-1)];
    expect(top?.drawn?.[100]).toBeCloseTo((drawing?.lines ?? []).reduce((n, l) => n + (l.column[100] ?? 0), 0));
    expect(base?.drawn).toEqual(base?.column);
  });

  test("response refused by a check is drawn as failed with any status", () => {
    const run = page("healthy");
    const { points } = run.series;
    points.failed = points.ok;
    points.errors = { "check or capture": points.ok, "status 5xx": points.ok.map(() => 0) };
    points.ok = points.ok.map(() => 0);
    expect(throughput(run)?.lines.map((l) => l.name)).toEqual(["failed"]);
    expect(errors(run)?.lines.map((l) => l.name)).toEqual(["check or capture"]);
  });

  test("cancelled request is unanswered in every throughput chart", () => {
    const run = page("overloaded");
    const { points } = run.series;
    points.none = points.issued.map((n) => n - 1);
    points.ok = points.issued.map(() => 1);
    points.failed = points.issued.map(() => 0);
    const answered = requests(run)?.lines.find((l) => l.name === "answered");
    expect(Math.max(...(answered?.column ?? []).map((n) => n ?? 0))).toBeLessThan(3);
    const dots = saturation(run)?.traces[0]?.column ?? [];
    expect(Math.max(...dots.map((n) => n ?? 0))).toBeLessThan(3);
  });

  test("dashed line has gaps longer than its width", () => {
    const line = { name: "planned", colour: "ink", column: [1, 2], style: "dotted" } as const;
    const series = lineSeries({ ...line, column: [1, 2] }, { get: () => "", faded: () => "" } as never, true);
    expect(series.dash?.[1]).toBeGreaterThan(2 * (series.width ?? 0));
    expect(series.cap).toBeUndefined();
  });

  test("plan is a line if an arrival is a request, otherwise a chart", () => {
    expect(requests(page("overloaded"))?.lines.map((l) => l.name)).toContain("planned");
    expect(arrivals(page("overloaded"))).toBeNull();
    expect(requests(page("healthy"))?.lines.map((l) => l.name)).not.toContain("planned");
    expect(arrivals(page("healthy"))?.lines.map((l) => l.name)).toContain("planned");
  });

  test("many workers are drawn as maximum and mean", () => {
    expect(cpu(page("huge"))?.lines.map((l) => l.name)).toEqual([
      "work, busiest",
      "work, mean",
      "spinning, busiest",
      "spinning, mean",
    ]);
    expect(cpu(page("closed"))?.lines.map((l) => l.name)).toContain("work, worker 2");
  });

  test("heat map covers the run and reads its cells", () => {
    const run = page("huge");
    const drawing = heat(run);
    expect(drawing?.cells?.columns[0]?.from).toBe(0);
    expect(drawing?.cells?.columns.at(-1)?.to).toBeCloseTo(3600, 5);
    const [row, n] = drawing?.cells?.columns[0]?.cells ?? [];
    const bound = drawing?.cells?.bounds[row ?? 0] ?? 0;
    expect(drawing?.lines[0]?.say?.(0, bound * 1.01)).toMatch(new RegExp(`^${n} between `));
    expect(drawing?.lines[0]?.say?.(0, 1)).toBe("");
    expect(fullness(1, 1)).toBe(1);
  });
});

describe("planes", () => {
  test("curve stretches its nines and ends at one in n", () => {
    const run = page("overloaded");
    const plane = curve(run);
    expect(plane?.xs.every((x, i, all) => i === 0 || x > (all[i - 1] ?? 0))).toBe(true);
    expect(Math.max(...(plane?.xs ?? []))).toBeLessThanOrEqual(run.series.distribution[0]?.count ?? 0);
  });

  test("density is a share of all requests, including unanswered ones", () => {
    const plane = density(page("erroring"));
    const total = (plane?.traces[0]?.column ?? []).reduce<number>((n, share) => n + (share ?? 0), 0);
    expect(total).toBeGreaterThan(0.8);
    expect(total).toBeLessThan(1);
  });

  test("dots have their point in time", () => {
    const run = page("healthy");
    const plane = offered(run);
    expect(plane?.points?.length).toBe(120);
    expect([...(plane?.points ?? [])].sort((a, b) => a - b)).toEqual(run.series.points.from_ns.map((_, i) => i));
    expect(saturation(page("single"))).toBeNull();
  });
});

test("neighbouring points with equal values are one period", () => {
  expect(stretches([true, true, false, null], [0, 1, 2, 3], [1, 2, 3, 4])).toEqual([
    [0, 2, true],
    [2, 3, false],
    [3, 4, null],
  ]);
});

test("axes end and tick at round values", () => {
  expect([below(3.2e6), above(3.2e6), below(1e3), above(1e3)]).toEqual([2e6, 5e6, 1e3, 1e3]);
  expect(logEnds(2.4e6, 2.4e6)).toEqual([1e6, 1e7]);
  expect(logEnds(null, null)).toEqual([1e3, 1e9]);
  expect(logTicks(1e6, 1e8, 9)).toEqual([1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8]);
  expect(logTicks(5e4, 2e5, 3)).toEqual([5e4, 1e5, 2e5]);
  expect(logTicks(1e3, 1e9, 7)).toEqual([1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);
  expect(linearEnds(0)).toEqual([0, 1]);
  expect([moment(5, 1), moment(120, 10), moment(0.25, 0.05), moment(90, 60), moment(3725, 900)]).toEqual([
    "5 s",
    "120 s",
    "0.25 s",
    "1:30",
    "1:02:05",
  ]);
  expect([
    tick("time", 5e6),
    tick("share", 0.25),
    tick("rate", 12_000),
    tick("bytes", 2e6),
    tick("bytes", 600_000),
  ]).toEqual(["5 ms", "25 %", "12,000", "2 MB", "600 kB"]);
});

test("slow requests of every endpoint are shown, slowest first", () => {
  const slow = (label: number, response_ns: number) => ({
    label,
    text: `GET /${label}`,
    trace_id: `${label}-${response_ns}`,
    span_id: "1",
    response_ns,
    service_ns: null,
    intended_ns: 0,
    status: 200,
  });
  const ofLabel = (label: number) => Array.from({ length: 8 }, (_, i) => slow(label, 1000 - label * 10 - i));
  const shown = chosen(Array.from({ length: 30 }, (_, label) => ofLabel(label)).flat());
  expect(shown.length).toBe(100);
  // 30 endpoints have three rows each, and the slowest of the fourth ones fill the rest.
  const counts = Array.from({ length: 30 }, (_, label) => shown.filter((one) => one.label === label).length);
  expect(counts).toEqual([...Array(10).fill(4), ...Array(20).fill(3)]);
  const times = shown.map((one) => one.response_ns);
  expect(times).toEqual([...times].sort((a, b) => b - a));
});
