// Streamed responses: time to first token, gaps, tokens and goodput.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { streamTimes, tokens } from "../data/streams";
import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { figure, NONE, shareOr } from "../text/figures";
import { count, rate } from "../text/units";
import type { Figure, Row, Stats, StreamRow, Summary } from "../types";
import { markOf, muted, type Section, section } from "./section";

const MEANING =
  "Time to first token: from the intended start to the first event with content. Gap: between two events with content, over all streams, so long streams weigh more. Time per token: mean after the first token, per stream. An incomplete stream ranks above all others.";

type TimeKey = "first_event" | "first_event_service" | "ttft" | "ttft_service" | "gap" | "per_token";

const TIMES: [TimeKey, string][] = [
  ["ttft", "time to first token"],
  ["ttft_service", "first token, from first byte written"],
  ["first_event", "first event"],
  ["first_event_service", "first event, from first byte written"],
  ["gap", "gap"],
  ["per_token", "time per token"],
];

const STATISTICS = ["p50", "p90", "p95", "p99", "max"] as const;

export function streams(env: Env): Section {
  const times = new TimeChart(env, {
    id: "stream-times",
    title: "Time to first token and gaps over time",
    draw: streamTimes,
    height: 260,
    phases: true,
  });
  const received = new TimeChart(env, {
    id: "stream-tokens",
    title: "Events with content per second",
    draw: tokens,
    height: 200,
  });
  return section(
    "streams",
    "Streamed responses",
    (page) => {
      const rows = streamRows(page.summary);
      const goodput = (page.summary.goodput ?? []).map((row, index) => {
        const path = `/goodput/${index}`;
        const share = `${shareOr(row.share)}${markOf(page, `${path}/share`)}`;
        const perSecond = `${rate(row.per_second)}/s${markOf(page, `${path}/per_second`)}`;
        const numbers = `${count(row.good)} of ${count(row.of)}, ${perSecond}`;
        return h("p", {}, `Goodput (${row.bounds.join(", ")}): ${share}, ${numbers}.`);
      });
      if (rows.length === 0) return { above: goodput };
      const columns = [{ name: "Request" }, { name: "Time" }, ...STATISTICS.map((name) => ({ name, number: true }))];
      const marks = rows.some(([row]) => row.judged?.some((path) => path.startsWith("stream/")));
      return {
        above: [
          table("Streamed responses", columns, rows.flatMap(cells)),
          ...rows.map(sums),
          ...goodput,
          ...(marks ? [muted("* judged by a criterion")] : []),
          muted(MEANING),
        ],
      };
    },
    [times, received],
  );
}

/** All requests together, then each one that streams; a single one alone. */
function streamRows(summary: Summary): [Row, StreamRow][] {
  const rows = [summary.all, ...summary.labels].flatMap((row): [Row, StreamRow][] =>
    row.stream ? [[row, row.stream]] : [],
  );
  if (rows.length !== 2) return rows;
  const isJudged = summary.all.judged?.some((path) => path.startsWith("stream/"));
  return isJudged ? rows.slice(0, 1) : rows.slice(1);
}

function cells([row, stream]: [Row, StreamRow]): Child[][] {
  return TIMES.flatMap(([key, name]): Child[][] => {
    const stats = stream[key];
    if (!stats) return [];
    return [[row.text, name, ...STATISTICS.map((s) => marked(row, `stream/${key}/${s}`, of(stats, s)))]];
  });
}

function of(stats: Stats, statistic: (typeof STATISTICS)[number]): string {
  const value: Figure | undefined = stats[statistic];
  return value ? figure(value) : NONE;
}

function sums([row, stream]: [Row, StreamRow]): Child {
  const perSecond = marked(row, "stream/tokens_per_second", `${rate(stream.tokens_per_second)}/s`);
  const complete = `${count(stream.complete)} of ${count(stream.requests)} complete`;
  const source = `${count(stream.tokens)} tokens by ${tokenSource(stream)}, `;
  return h("p", {}, `${row.text}: ${complete}; ${source}`, perSecond, ".");
}

/** What tokens are counted by. */
function tokenSource(stream: StreamRow): string {
  if (stream.unreported_tokens === stream.tokens) return "events with content";
  const some = "the server's usage figures";
  return stream.unreported_tokens === 0 ? some : `${some}, and events with content where it reported none`;
}

function marked(row: Row, path: string, text: string): Child {
  if (!row.judged?.includes(path)) return text;
  return h("span", {}, text, h("span", { class: "judged", title: "judged by a criterion" }, " *"));
}
