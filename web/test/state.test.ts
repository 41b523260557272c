// Zoom, cursor keys, sorting, and merging the seconds of a running test.

import { describe, expect, test } from "vitest";
import { press as key } from "../src/charts/keys";
import { merge } from "../src/state/merge";
import { Shared } from "../src/state/shared";
import { press, sorted } from "../src/state/sort";
import { Zoom } from "../src/state/zoom";
import type { Page, Series, Tick } from "../src/types";
import { fixtures } from "./fixtures";

const page = (name: string): Page => {
  const make = fixtures[name];
  if (!make) throw new Error(name);
  return make();
};

describe("zoom", () => {
  const fresh = () => {
    const zoom = new Zoom();
    zoom.whole(0, 100, 1);
    return zoom;
  };

  test("zooms in, back, and out", () => {
    const zoom = fresh();
    expect(zoom.to(40, 20)).toBe(true);
    expect(zoom.range).toEqual([20, 40]);
    expect(zoom.to(25, 30)).toBe(true);
    expect(zoom.undo()).toBe(true);
    expect(zoom.range).toEqual([20, 40]);
    expect(zoom.reset()).toBe(true);
    expect(zoom.range).toEqual([0, 100]);
    expect([zoom.undo(), zoom.reset()]).toEqual([false, false]);
  });

  test("zoom stays within the run and refuses less than a point", () => {
    const zoom = fresh();
    expect(zoom.to(-50, 30)).toBe(true);
    expect(zoom.range).toEqual([0, 30]);
    expect(zoom.to(10, 10.5)).toBe(false);
    expect(zoom.to(0, 30)).toBe(false);
    expect(zoom.to(Number.NaN, 3)).toBe(false);
    expect(zoom.to(-1, 200)).toBe(true);
    expect(zoom.zoomed).toBe(false);
  });

  test("zoom by a factor keeps the time at its position", () => {
    const zoom = fresh();
    zoom.by(0.5, 50);
    expect(zoom.range).toEqual([25, 75]);
    zoom.by(0.5, 25);
    expect(zoom.range).toEqual([25, 50]);
    zoom.by(2, 25);
    expect(zoom.range).toEqual([25, 75]);
    zoom.by(4, 75);
    expect(zoom.zoomed).toBe(false);
  });

  test("growing run is shown whole unless a range was selected", () => {
    const zoom = fresh();
    zoom.whole(0, 101, 1);
    expect(zoom.range).toEqual([0, 101]);
    zoom.to(10, 20);
    zoom.whole(0, 102, 1);
    expect(zoom.range).toEqual([10, 20]);
  });

  test("run without length gets a minimal one", () => {
    const zoom = new Zoom();
    zoom.whole(0, 0, 0);
    expect(zoom.range).toEqual([0, 1]);
  });
});

describe("the shared cursor", () => {
  const shared = () => {
    const made = new Shared();
    made.take(page("healthy"));
    return made;
  };

  test("cursor keys stay within the visible range", () => {
    const s = shared();
    let calls = 0;
    s.onCursor(() => calls++);
    key("ArrowRight", false, s);
    expect(s.cursor).toBe(0);
    key("ArrowLeft", false, s);
    expect(s.cursor).toBe(0);
    key("ArrowRight", true, s);
    expect(s.cursor).toBe(10);
    key("End", false, s);
    expect(s.cursor).toBe(119);
    s.zooms((zoom) => zoom.to(30, 40));
    key("ArrowRight", false, s);
    expect(s.cursor).toBe(39);
    key("Home", false, s);
    expect(s.cursor).toBe(30);
    expect(calls).toBe(5);
  });

  test("plus, minus and Escape zoom", () => {
    const s = shared();
    s.cursor = 60;
    key("+", false, s);
    expect(s.zoom.zoomed).toBe(true);
    key("-", false, s);
    expect(s.zoom.zoomed).toBe(false);
    key("+", false, s);
    key("Escape", false, s);
    expect([s.zoom.zoomed, s.cursor]).toEqual([false, null]);
    expect(key("a", false, s)).toBe(false);
  });

  test("shorter page resets a cursor beyond its end", () => {
    const s = shared();
    s.cursor = 100;
    s.take(page("single"));
    expect(s.cursor).toBeNull();
  });
});

describe("sorting", () => {
  test("heading sorts, reverses, and resets", () => {
    const first = press(null, "p99", "descending");
    expect(first).toEqual({ column: "p99", direction: "descending" });
    const second = press(first, "p99", "descending");
    expect(second).toEqual({ column: "p99", direction: "ascending" });
    expect(press(second, "p99", "descending")).toBeNull();
    expect(press(second, "name", "ascending")).toEqual({ column: "name", direction: "ascending" });
  });

  test("numbers sort by size, names naturally, equal rows keep their order", () => {
    const rows = [
      { name: "GET /10", n: 1 },
      { name: "GET /9", n: 3 },
      { name: "GET /1", n: 1 },
    ];
    expect(sorted(rows, (r) => r.n, "descending").map((r) => r.name)).toEqual(["GET /9", "GET /10", "GET /1"]);
    expect(sorted(rows, (r) => r.name, "ascending").map((r) => r.name)).toEqual(["GET /1", "GET /9", "GET /10"]);
    expect(sorted([1, Number.POSITIVE_INFINITY, -1], (n) => n, "descending")).toEqual([
      Number.POSITIVE_INFINITY,
      1,
      -1,
    ]);
  });
});

describe("merging a second", () => {
  /** The page's points from `from` on, as in a tick. */
  const panels = (whole: Page, from: number, to?: number) =>
    (whole.series.server ?? []).map((panel) => ({ ...panel, values: panel.values.slice(from, to) }));

  function tick(whole: Page, from: number): Tick {
    const cut = (value: unknown): unknown => {
      if (Array.isArray(value)) return Array.isArray(value[0]) ? value.map(cut) : value.slice(from);
      return Object.fromEntries(Object.entries(value as object).map(([k, v]) => [k, cut(v)]));
    };
    const series = {
      ...whole.series,
      points: cut(whole.series.points) as Series["points"],
      criteria_timeline: whole.series.criteria_timeline.map((lane) => lane.slice(from)),
      server: panels(whole, from),
    };
    return { summary: whole.summary, series, from };
  }

  test("new points replace and follow the old ones", () => {
    const whole = page("generator-limited");
    const early: Page = { ...whole, series: { ...whole.series, ...tick(whole, 0).series } };
    const points = early.series.points;
    const half = (value: unknown): unknown => {
      if (Array.isArray(value)) return Array.isArray(value[0]) ? value.map(half) : value.slice(0, 60);
      return Object.fromEntries(Object.entries(value as object).map(([k, v]) => [k, half(v)]));
    };
    early.series = {
      ...early.series,
      points: half(points) as Series["points"],
      criteria_timeline: early.series.criteria_timeline.map((lane) => lane.slice(0, 60)),
      server: panels(whole, 0, 60),
    };
    for (const from of [0, 59, 60]) expect(merge(early, tick(whole, from))).toEqual(whole);
    expect(merge(early, tick(whole, 61))).toBeNull();
  });

  test("new panel has no earlier values", () => {
    const one = page("healthy");
    const next = tick(page("healthy"), 100);
    next.series.server = [{ name: "host.cpu", unit: "%", limit: null, values: new Array(20).fill(5) }];
    const merged = merge({ ...one, series: { ...one.series, server: [] } }, next);
    expect(merged?.series.server?.[0]?.values.slice(98, 102)).toEqual([null, null, 5, 5]);
  });

  test("custom metrics and streams grow, and may begin late", () => {
    const one = page("healthy");
    const five = new Array<number>(20).fill(5);
    const times = { p50: five, p95: five, p99: five, max: five };
    const next = tick(one, 100);
    next.series.custom = [
      { name: "orders", kind: "counter", count: five },
      { name: "size", kind: "histogram", count: five, p50: five, p95: five },
    ];
    next.series.points.stream = { ttft: times, gap: times, chunks: five };
    const known = { name: "orders", kind: "counter", count: new Array<number>(110).fill(1) };
    const merged = merge({ ...one, series: { ...one.series, custom: [known] } }, next);
    const [orders, size] = merged?.series.custom ?? [];
    expect([orders?.count.length, orders?.count.slice(98, 102)]).toEqual([120, [1, 1, 5, 5]]);
    expect(orders?.p50).toBeUndefined();
    expect(size?.count.slice(98, 102)).toEqual([0, 0, 5, 5]);
    expect(size?.p95?.slice(98, 102)).toEqual([null, null, 5, 5]);
    const stream = merged?.series.points.stream;
    expect(stream?.ttft.p99.slice(98, 102)).toEqual([null, null, 5, 5]);
    expect(stream?.chunks.slice(98, 102)).toEqual([0, 0, 5, 5]);
  });

  test("new worker has no earlier values", () => {
    const one = page("healthy");
    const next = tick(page("healthy"), 100);
    next.series.points.worker_cpu.push(new Array(20).fill(0.5));
    const merged = merge(one, next);
    expect(merged?.series.points.worker_cpu[1]?.slice(98, 102)).toEqual([null, null, 0.5, 0.5]);
  });
});
