// Figures in words, and paths of figures in the summary.

import { expect, test } from "vitest";
import { figure, headline, margin, rank, rowTime } from "../src/text/figures";
import type { Figure } from "../src/types";
import { chip, says } from "../src/text/paths";
import { rate } from "../src/text/units";
import { spans } from "../src/text/spans";
import { fixtures } from "./fixtures";

const summary = (name: string) => {
  const make = fixtures[name];
  if (!make) throw new Error(name);
  return make().summary;
};

test("a figure is a time, a bound, a missing answer or a dash", () => {
  expect(figure({ ns: 1_234_567, beyond: 12 })).toBe("1.23 ms");
  expect(figure({ at_least_ns: 10_000_000_000, beyond: 12 })).toBe("≥ 10.0 s");
  expect(figure({ no_answer: true, beyond: 12 })).toBe("no answer");
  expect(figure({ too_few: true, beyond: 3 })).toBe("–");
  expect(figure(null)).toBe("–");
});

test("percentile of few samples has an interval", () => {
  const few = (thin: Figure["thin"]) => figure({ beyond: 3, too_few: true, thin });
  const ms = 1_000_000;
  expect(few({ ns: 312 * ms, low_ns: 280 * ms, high_ns: 401 * ms })).toBe("312 ms? (280–401)");
  expect(few({ ns: 312 * ms, low_ns: 280 * ms, largest_ns: 401 * ms })).toBe("312 ms? (280–≥ 401)");
  expect(few({ ns: 788 * ms, low_ns: 900_000, high_ns: 1_080 * ms })).toBe("788 ms? (0.900–1,080)");
  expect(few({ ns: ms, largest_ns: ms })).toBe("1.00 ms? (?–≥ 1.00)");
  expect(few({ at_least_ns: 300 * ms, low_ns: 200 * ms })).toBe("≥ 300 ms? (from 200)");
  expect(few({ low_ns: 200 * ms })).toBe("no answer? (from 200 ms)");
  expect(few({})).toBe("no answer?");
  expect(rank({ beyond: 3, too_few: true, thin: { ns: 5 } })).toBe(5);
});

test("figures sort: not given, times, missing answers", () => {
  const order = [
    { beyond: 1, too_few: true },
    { beyond: 20, ns: 5 },
    { beyond: 20, at_least_ns: 9 },
    { beyond: 20, no_answer: true },
  ];
  const ranks = order.map(rank);
  expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
});

test("margins carry their sign", () => {
  expect([0.123, -0.045, 0, 1, -12.98182].map((value) => margin(value))).toEqual([
    "+12.3 %",
    "−4.50 %",
    "0 %",
    "+100 %",
    "−1,298 %",
  ]);
  expect([margin(-99, 1), margin(-1, 2), margin(1.5, 25), margin(1, 0)]).toEqual([
    "100 × the bound",
    "2.00 × the bound",
    "2.50 × the bound",
    "+100 %",
  ]);
});

test("headline is response time, unless another tool measured only service time", () => {
  expect(headline(summary("healthy"))).toBe("response");
  expect(headline(summary("closed"))).toBe("response");
  const told = summary("healthy");
  told.all.response = null;
  expect(headline(told)).toBe("service");
  expect(rowTime(summary("healthy").iterations[0] ?? summary("empty").all)?.kind).toBe("iteration");
  expect(rowTime(summary("empty").all)).toBeNull();
});

test("path of a figure becomes its name and value", () => {
  const s = summary("overloaded");
  expect(chip(s, "all.response.p99")).toEqual({
    name: "all requests response p99",
    value: figure(s.all.response?.p99),
  });
  expect(chip(s, "labels[4].count")?.name).toBe("POST /checkout count");
  expect(chip(s, "labels.4.count")?.value).toBe(String(s.labels[4]?.count));
  expect(chip(s, "measurement.cpu")).toEqual({ name: "generator CPU", value: "22.0 %" });
  expect(chip(s, "measurement.lateness_p99_ns")?.name).toBe("lateness p99");
  expect(chip(s, "in_flight.mean")?.value).toBe(rate(s.in_flight.mean));
  expect(chip(s, "all.nothing.p99")).toBeNull();
  expect(chip(s, "all.service")).toBeNull();
  expect(chip(s, "")).toBeNull();
});

test("text between two backticks is code, as in report.md", () => {
  const marked = (text: string) => spans(text).map(({ text, code }) => (code ? `<${text}>` : text));
  expect(marked("`a_b > 1`: no_where")).toEqual(["<a_b > 1>", ": no_where"]);
  expect(marked("`a` b `c`")).toEqual(["<a>", " b ", "<c>"]);
  for (const text of ["one ` alone", "``", "`a|b`", "``x``", "` a`", ""])
    expect(marked(text)).toEqual(text === "" ? [] : [text]);
});

test("value is found in a sentence only as a whole", () => {
  expect(says("3 of 34 failed, p99 1.30 s.", "3")).toBe(true);
  expect(says("3 of 34 failed, p99 1.30 s.", "1.30 s")).toBe(true);
  expect(says("34 of 1,334 failed, p99 1.3 s.", "3")).toBe(false);
  expect(says("134 failed", "34")).toBe(false);
});
