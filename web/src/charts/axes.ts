// Positions of axis ticks and the ends of axes. Pure functions on numbers.

/** Steps of a time axis in seconds. */
export const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  14400, 21600, 43200, 86400,
];

/**
 * Formats a time of the run in seconds, as short as the step allows: `90 s`, `12:30`, `1:02:30`.
 */
export function moment(seconds: number, step: number): string {
  if (seconds <= 120 && step < 60) {
    const digits = step < 1 ? Math.min(3, Math.ceil(-Math.log10(step))) : 0;
    return `${seconds.toFixed(digits)} s`;
  }
  const whole = Math.round(seconds);
  const pad = (n: number) => String(n).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

/** The greatest of 1, 2, 5 × 10ⁿ that is at most `value`. */
export function below(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const digit = value / decade;
  return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * decade;
}

/** The smallest of 1, 2, 5 × 10ⁿ that is at least `value`. */
export function above(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const digit = value / decade;
  return (digit <= 1.000001 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * decade;
}

/** Ends of a logarithmic axis: round, and at least half a decade apart. */
export function logEnds(least: number | null, greatest: number | null): [number, number] {
  if (least === null || greatest === null || !(least > 0) || !(greatest > 0)) return [1e3, 1e9];
  let [low, high] = [below(least), above(greatest)];
  if (high / low < 5) {
    low = below(low / 2);
    high = above(high * 1.01);
  }
  return [low, high];
}

/** Ticks of a logarithmic axis, at most `room`: 1, 2, 5, or powers of ten, or every nth power. */
export function logTicks(low: number, high: number, room: number): number[] {
  const first = Math.floor(Math.log10(low) + 1e-9);
  const last = Math.ceil(Math.log10(high) - 1e-9);
  const digits = Math.log10(high / low) * 3 <= room ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(Math.log10(high / low) / Math.max(room, 1)));
  const ticks: number[] = [];
  for (let power = first; power <= last; power += every) {
    for (const digit of digits) {
      const value = Number((digit * 10 ** power).toPrecision(1));
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

/** Ends of a linear axis that starts at zero. */
export function linearEnds(greatest: number | null): [number, number] {
  return [0, greatest === null || !(greatest > 0) ? 1 : greatest * 1.06];
}
