// Formats numbers: times with three significant digits and a unit, counts with thousands
// separators. The rules equal those of the `report` crate's units.rs, so that page, console and
// Markdown agree.

const MICROSECOND = 1e3;
const MILLISECOND = 1e6;
const SECOND = 1e9;
const MINUTE = 60 * SECOND;

/** Shown for an unknown figure. */
const UNKNOWN = "–";

/** A time with three significant digits and its unit: `412 µs`, `1.23 ms`, `2.05 s`. */
export function time(ns: number): string {
  // Each unit ends where three digits would round up to the next: 999.6 µs is 1.00 ms.
  if (ns < 1_000) return `${Math.trunc(ns)} ns`;
  if (ns < 999_500) return `${threeDigits(ns / MICROSECOND)} µs`;
  if (ns < 999_500_000) return `${threeDigits(ns / MILLISECOND)} ms`;
  if (ns < 10 * MINUTE) return `${threeDigits(ns / SECOND)} s`;
  return duration(ns);
}

/** A unit of times, with its length in nanoseconds. */
type TimeUnit = [string, number];

/** The unit in which `time` formats a time; null from ten minutes on, which has several. */
function timeUnit(ns: number): TimeUnit | null {
  if (ns < 1_000) return ["ns", 1];
  if (ns < 999_500) return ["µs", MICROSECOND];
  if (ns < 999_500_000) return ["ms", MILLISECOND];
  return ns < 10 * MINUTE ? ["s", SECOND] : null;
}

/** A time in the unit of `of`, which is left out: `0.950`, `12.3`, `1,200`. */
export function timeDigits(ns: number, of: number): string {
  const unit = timeUnit(of);
  return unit === null ? time(ns) : digits(ns / unit[1], unit[1] === 1);
}

/** An interval in the unit of `of`, which is said once: `950 to 1,200 ms`. */
export function timeInterval(low: number, high: number, of: number): string {
  const unit = timeUnit(of);
  const text = `${timeDigits(low, of)} to ${timeDigits(high, of)}`;
  return unit === null ? text : `${text} ${unit[0]}`;
}

function digits(value: number, whole: boolean): string {
  if (whole || value === 0 || value >= 999.5) return rounded(value);
  if (value >= 0.9995) return threeDigits(value);
  let decimals = 2;
  for (let scaled = value; scaled < 0.9995 && decimals < 6; scaled *= 10) decimals += 1;
  return fixed(value, decimals);
}

/** A duration in words: `10 s`, `2 min 30 s`, `1 h`, `1.5 s`. */
export function duration(ns: number): string {
  if (ns <= 0) return "0 s";
  if (ns < MICROSECOND) return `${ns} ns`;
  if (ns < MILLISECOND) return `${decimal(ns / MICROSECOND)} µs`;
  if (ns < SECOND) return `${decimal(ns / MILLISECOND)} ms`;
  if (ns < MINUTE) return `${decimal(ns / SECOND)} s`;
  const seconds = Math.floor((ns + SECOND / 2) / SECOND);
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  return parts
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

/** A count with thousands separators: `12,345`. */
export function count(n: number): string {
  if (Number.isNaN(n)) return UNKNOWN;
  return n.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number without trailing zeros, with at most three decimals: `200`, `0.5`, `1.667`. */
export function decimal(value: number): string {
  return fixed(value, 3).replace(/\.?0+$/, "");
}

/** A rate: three significant digits below a thousand, whole numbers with separators above. */
export function rate(perSecond: number): string {
  if (Number.isNaN(perSecond)) return UNKNOWN;
  if (perSecond === 0) return "0";
  return perSecond < 999.5 ? threeDigits(perSecond) : rounded(perSecond);
}

/**
 * A share in per cent with three significant digits: `0 %`, `0.012 %`, `12.3 %`, `100 %`, `141 %`.
 * Only exact zero and one print as 0 % and 100 %.
 */
export function share(value: number): string {
  const percent = value * 100;
  if (percent === 0 || percent === 100) return `${fixed(percent, 0)} %`;
  if (percent > 999.5) return `${rounded(percent)} %`;
  if (percent > 99.9 && percent < 100) return `${decimal(Math.floor(percent * 1000) / 1000)} %`;
  if (percent < 0.001) return "<0.001 %";
  return percent < 1 ? `${decimal(percent)} %` : `${threeDigits(percent)} %`;
}

/** How often something occurred: `once`, `twice`, `12 times`. */
export function times(n: number): string {
  return n === 1 ? "once" : n === 2 ? "twice" : `${count(n)} times`;
}

/** Bytes: `812 B`, `1.20 MB`. */
/** A value without unit, with three digits: `12.3`, `1,234`. */
export function plain(value: number): string {
  return Math.abs(value) < 999.5 ? decimal(Number(value.toPrecision(3))) : count(Math.round(value));
}

export function bytes(n: number): string {
  if (Number.isNaN(n)) return UNKNOWN;
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let value = n / 1000;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${threeDigits(value)} ${units[unit]}`;
}

/** The nearest whole number, with thousands separators. */
function rounded(value: number): string {
  return count(Number(fixed(value, 0)));
}

function threeDigits(value: number): string {
  // Decides by the rounded value: 9.996 is 10.0, not 10.00.
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/**
 * Formats with the given number of decimals. Exact ties round to even, as in Rust; toFixed rounds
 * up.
 */
function fixed(value: number, digits: number): string {
  const rounded = value.toFixed(digits);
  // Only an exact tie has 29 zeros after it, for doubles of this magnitude.
  const exact = value.toFixed(digits + 30);
  const halfway = exact.endsWith(`5${"0".repeat(29)}`);
  const odd = Number(rounded.at(-1)) % 2 === 1;
  return halfway && odd ? exact.slice(0, -30).replace(/\.$/, "") : rounded;
}
