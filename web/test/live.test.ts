// Texts in the bar of a running test.

import { describe, expect, test } from "vitest";
import { clock, figures, progress } from "../src/live/words";
import type { Newest } from "../src/types";

const SECOND = 1e9;

const newest = (change: Partial<Newest> = {}): Newest => ({
  span_ns: [30 * SECOND, 31 * SECOND],
  end_ns: 120 * SECOND,
  phase: null,
  closed: false,
  answered_per_second: 52.4,
  in_flight: 3,
  users: 4,
  time: "service",
  p95: { ns: 1_230_000, beyond: 12 },
  ended: 52,
  errors: 0,
  error_share: 0,
  errors_so_far: 0,
  kinds: [],
  kinds_omitted: 0,
  ...change,
});

const value = (name: string, change: Partial<Newest> = {}) =>
  figures(newest(change)).find((shown) => shown.name === name)?.value;

describe("how far the test is", () => {
  test("progress names the phase and the planned time", () => {
    expect(progress(newest())).toEqual({ text: "31 s of 2 min", share: 31 / 120 });
    const phase = { name: "", number: 2, count: 3 };
    expect(progress(newest({ phase })).text).toBe("phase 2 of 3 · 31 s of 2 min");
    expect(progress(newest({ phase: { ...phase, name: "peak" } })).text).toBe("peak (phase 2 of 3) · 31 s of 2 min");
  });

  test("progress without a planned end has no share", () => {
    expect(progress(newest({ end_ns: 0 }))).toEqual({ text: "31 s elapsed, no planned end", share: null });
  });

  test("progress after the load mentions requests in flight", () => {
    const late = progress(newest({ span_ns: [130 * SECOND, 131 * SECOND] }));
    expect(late.share).toBe(1);
    expect(late.text).toContain("the load has ended");
    expect(progress(newest({ span_ns: [120 * SECOND, 120.4 * SECOND] })).share).toBe(1);
  });
});

describe("the newest second", () => {
  test("figures have their units", () => {
    expect(figures(newest()).map((shown) => shown.value)).toEqual(["52.4/s", "3", "1.23 ms", "0 (0 %)"]);
    expect(value("Users", { closed: true })).toBe("4");
    expect(value("Errors", { errors: 13, error_share: 0.25 })).toBe("13 (25.0 %)");
  });

  test("missing answers give dashes", () => {
    expect(value("p95", { p95: null })).toBe("–");
    expect(value("p95", { p95: { at_least_ns: 10 * SECOND, beyond: 20 } })).toBe("≥ 10.0 s");
    expect(value("p95", { p95: { no_answer: true, beyond: 20 } })).toBe("no answer");
    const thin = { ns: 2_000_000, low_ns: 1_000_000, high_ns: 3_000_000 };
    expect(value("p95", { p95: { beyond: 2, too_few: true, thin } })).toBe("2.00 ms?");
    expect(value("Rate", { answered_per_second: null })).toBe("–");
    expect(value("Errors", { error_share: null })).toBe("–");
  });
});

test("times are minutes and seconds from the start", () => {
  expect([0, 9.96 * SECOND, 62.5 * SECOND, 3600 * SECOND].map(clock)).toEqual([
    "0:00.0",
    "0:09.9",
    "1:02.5",
    "60:00.0",
  ]);
});
