// Converts the path of a figure in summary.json (`labels[2].service.p99`) into a name and a value.
// Unknown paths give null, so that sentences of newer records still show.

import type { Figure, Summary } from "../types";
import { figure } from "./figures";
import { count, rate, share, time } from "./units";

export interface Chip {
  name: string;
  value: string;
}

const WORDS: Record<string, string> = {
  p999: "p99.9",
  per_second: "per second",
  error_share: "errors",
  in_flight: "in flight",
  littles_law: "Little's law",
  none_by_class: "without answer",
  connections_opened: "connections opened",
  elapsed_ns: "length",
  cpu: "generator CPU",
  sent: "of plan started",
  run: "",
  trend: "",
  steady: "",
  change_per_minute: "change per minute",
  first: "first quarter",
  last: "last quarter",
  best: "best quarter",
  recovery: "",
  saturation: "",
  measurement: "",
  all: "all requests",
};
const SHARES = new Set([
  "error_share",
  "sent",
  "cpu",
  "waiting",
  "littles_law",
  "margin",
  "before_share",
  "after_share",
  "change_per_minute",
]);

/** Returns the figure at `path`, named by its path. */
export function chip(summary: Summary, path: string): Chip | null {
  const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
  const words: string[] = [];
  let value: unknown = summary;
  for (const key of keys) {
    if (typeof value !== "object" || value === null) return null;
    value = (value as Record<string, unknown>)[key];
    words.push(nameOf(key, value));
  }
  const text = say(keys.at(-1) ?? "", value);
  return text === null ? null : { name: words.filter((word) => word !== "").join(" "), value: text };
}

/** Rows are named by their text, lists are omitted: `GET /cart service p99`. */
function nameOf(key: string, value: unknown): string {
  if (/^\d+$/.test(key)) {
    const row = value as Record<string, unknown> | null | undefined;
    const text = row?.text ?? row?.name ?? row?.resource ?? row?.reason ?? row?.label;
    return typeof text === "string" ? text : `#${Number(key) + 1}`;
  }
  if (
    [
      "labels",
      "iterations",
      "transactions",
      "phases",
      "scenarios",
      "errors",
      "criteria",
      "confidence",
      "reached",
    ].includes(key) &&
    Array.isArray(value)
  )
    return "";
  return WORDS[key] ?? key.replace(/_ns$/, "").replaceAll("_", " ");
}

function say(key: string, value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (key.endsWith("_ns")) return time(value);
    if (SHARES.has(key)) return value < 0 ? `−${share(-value)}` : share(value);
    if (key.endsWith("per_second")) return rate(value);
    return Number.isInteger(value) ? count(value) : rate(value);
  }
  if (typeof value === "object" && value !== null && "beyond" in value) return figure(value as Figure);
  return null;
}

/** Whether a sentence contains the value as a whole: `34` and `1.3 s` do not contain 3. */
export function says(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
    const before = text.slice(0, at);
    const after = text.slice(at + value.length);
    if (!/[\w.,]$/.test(before) && !/^(\w|[.,]\d)/.test(after)) return true;
  }
  return false;
}
