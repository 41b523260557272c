// The cases of the `report` crate's units.rs, and the roundings in which the two languages differ.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bytes, count, decimal, duration, rate, share, time, times } from "../src/text/units";

const SECOND = 1e9;

test("cases shared with the Rust tests", () => {
  const path = new URL("../../crates/record/src/units_cases.json", import.meta.url);
  const cases = JSON.parse(readFileSync(path, "utf8")) as Record<string, [number, string][]>;
  const functions: Record<string, (value: number) => string> = { time, count, decimal, rate, share, bytes };
  expect(Object.keys(cases)).toEqual(Object.keys(functions));
  for (const [name, all] of Object.entries(cases)) {
    for (const [value, text] of all) expect(functions[name]?.(value), `${name} of ${value}`).toBe(text);
  }
});

test("times have three digits", () => {
  const shown: [number, string][] = [
    [0, "0 ns"],
    [999, "999 ns"],
    [1_000, "1.00 µs"],
    [9_996, "10.0 µs"],
    [412_300, "412 µs"],
    [999_499, "999 µs"],
    [999_600, "1.00 ms"],
    [1_234_567, "1.23 ms"],
    [99_960_000, "100 ms"],
    [2_050_000_000, "2.05 s"],
    [60_000_000_000, "60.0 s"],
    [599_000_000_000, "599 s"],
    [3_600_000_000_000, "1 h"],
  ];
  for (const [ns, text] of shown) expect(time(ns)).toBe(text);
});

test("durations, counts, rates, shares, bytes, decimals", () => {
  const durations = [10 * SECOND, 150 * SECOND, 3600 * SECOND, 1_500_000_000, 200e6, 0].map(duration);
  expect(durations).toEqual(["10 s", "2 min 30 s", "1 h", "1.5 s", "200 ms", "0 s"]);
  expect([0, 999, 1000, 1_234_567].map(count)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect([0, 0.5, 9.999, 123.4, 999.6, 54_321].map(rate)).toEqual(["0", "0.50", "10.0", "123", "1,000", "54,321"]);
  const shares = [0, 0.000_000_1, 0.000_12, 0.0123, 0.5, 0.999_999_9, 1, 1.413_82, 142.95].map(share);
  expect(shares).toEqual(["0 %", "<0.001 %", "0.012 %", "1.23 %", "50.0 %", "99.999 %", "100 %", "141 %", "14,295 %"]);
  expect([0, 1, 2, 1_234].map(times)).toEqual(["0 times", "once", "twice", "1,234 times"]);
  expect([0, 999, 1_234, 5_600_000_000].map(bytes)).toEqual(["0 B", "999 B", "1.23 kB", "5.60 GB"]);
  expect([200, 0.5, 5 / 3].map(decimal)).toEqual(["200", "0.5", "1.667"]);
});

test("exact ties round to even, as in Rust", () => {
  expect(time(412_500)).toBe("412 µs");
  expect(time(413_500)).toBe("414 µs");
  expect(rate(2.125)).toBe("2.12");
  expect(rate(2.375)).toBe("2.38");
  expect(decimal(0.0625)).toBe("0.062");
  // Close to a tie, but not one.
  expect(time(412_501)).toBe("413 µs");
  expect(rate(1.005)).toBe("1.00");
});
