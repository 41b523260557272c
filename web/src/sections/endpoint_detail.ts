// The details of a row in the endpoint table: percentiles over time, distribution, parts of its
// time, phases, status codes, and errors with expected and actual values.

import { LINES, percentilesOverTime, distribution } from "../charts/label_pictures";
import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { figure, NONE, rowTime, spansRequests } from "../text/figures";
import { bytes, count, time } from "../text/units";
import type { ErrorRow, Page, Row, Series } from "../types";

type LabelSeries = Series["labels"][number];
/** The times of a row. */
type OfRow = "service" | "response" | "iteration" | "unpaused";

/** Names and explanations of the times, in the order in which they happen. */
const TIMES: Record<string, [string, string]> = {
  connect: ["connect", "time to open a connection, if one was opened"],
  tls: ["TLS handshake", "after the connect"],
  first_byte: ["first byte", "from the first byte of the request written to the first byte of the response"],
  service: ["service time", "from the first byte written to the last byte read"],
  script: ["in the test script", "from the script's call until it has the response"],
  response: ["response time", "from the time at which the request was due to the last byte read"],
  iteration: ["iteration", "from the intended arrival to the last response"],
  unpaused: ["without its pauses", "the iteration without its think times"],
};
/** Names for transactions. */
const OF_TRANSACTION: Record<string, [string, string]> = {
  iteration: ["transaction", "from the due time of the first step to the end of the last step"],
  unpaused: ["without its pauses", "the transaction without its think times"],
};

/**
 * The details of a row. For all requests together and for some imported tools there are only codes
 * and errors.
 */
export function detail(page: Page, row: Row): HTMLElement {
  const known = page.series.labels.find((label) => label.id === row.id);
  return h(
    "div",
    { class: "detail" },
    known ? pictures(known, row) : null,
    known ? h("div", { class: "pair" }, times(known, row), phases(page, known)) : null,
    tally("answers by status", row.codes),
    tally("no answer", row.none),
    amounts(row),
    errors(page, row),
  );
}

function pictures(known: LabelSeries, row: Row): Child {
  const [over, of] = [percentilesOverTime(known, row.text), distribution(known, row.text)];
  if (!over && !of) return null;
  const keys = LINES.map(([name, colour]) => h("span", {}, h("span", { class: `key line ${colour}` }), name));
  const [named] = called(known.time ?? "time", row);
  return h(
    "div",
    { class: "pictures" },
    over && h("figure", {}, h("figcaption", {}, `${named} over time`, ...keys), over),
    of && h("figure", {}, h("figcaption", {}, `Distribution of ${named}`), of),
  );
}

/** Combines the row's own figures with the parts in its series. */
function times(known: LabelSeries, row: Row): Child {
  const columns = [
    { name: "time" },
    ...["measured", "p50", "p95", "p99", "max"].map((name) => ({ name, number: true })),
  ];
  const rows = Object.keys(TIMES).flatMap((time): Child[][] => {
    const of = known.times.find((part) => part.time === time) ?? row[time as OfRow];
    if (!of) return [];
    const [name, meaning] = called(time, row);
    const figures = [of.p50, of.p95, of.p99, of.max].map(figure);
    return [[h("span", { title: meaning }, name), count(of.count), ...figures]];
  });
  if (rows.length === 0) return null;
  return h("div", {}, h("h3", {}, "Time by part"), table("Time by part", columns, rows));
}

/** Returns the name and the explanation of a time. */
function called(time: string, row: Row): [string, string] {
  return (row.group === "transaction" ? OF_TRANSACTION[time] : undefined) ?? TIMES[time] ?? [time, ""];
}

function phases(page: Page, known: LabelSeries): Child {
  if (!known.phases || known.phases.length === 0) return null;
  const columns = [
    { name: "phase" },
    ...["ended", "errors", "p50", "p95", "p99"].map((name) => ({ name, number: true })),
  ];
  const rows = known.phases.map((of): Child[] => [
    page.summary.phases[of.phase]?.name ?? String(of.phase + 1),
    count(of.count),
    of.errors > 0 ? h("span", { class: "bad-text" }, count(of.errors)) : "0",
    of.p50 ? figure(of.p50) : NONE,
    of.p95 ? figure(of.p95) : NONE,
    of.p99 ? figure(of.p99) : NONE,
  ]);
  return h("div", {}, h("h3", {}, "In each phase"), table("In each phase", columns, rows));
}

function tally(title: string, counts: Record<string, number>): Child {
  const entries = Object.entries(counts);
  if (entries.length === 0) return null;
  const chips = entries.map(([name, n]) => h("span", { class: "chip" }, `${name} `, h("b", {}, count(n))));
  return h("p", { class: "chips" }, h("span", { class: "muted" }, title), ...chips);
}

function amounts(row: Row): Child {
  const stats = rowTime(row)?.stats;
  const answered = stats
    ? `${count(stats.count)} measured, ${count(stats.unanswered)} without a complete response`
    : "nothing measured";
  // Bytes are counted per request.
  const moved = spansRequests(row) ? "" : ` · sent ${bytes(row.bytes_out)} · received ${bytes(row.bytes_in)}`;
  return h("p", { class: "muted" }, answered + moved);
}

/** Every cause of errors in this row, most frequent first, with its first sample. */
function errors(page: Page, row: Row): Child {
  const under = (error: ErrorRow) => {
    if (row.id === 0) return { count: error.count, first: error.first };
    return error.by_label?.find((part) => part.label === row.id);
  };
  const causes = page.summary.errors
    .map((error) => ({ error, here: under(error) }))
    .filter(({ here }) => here !== undefined)
    .sort((a, b) => (b.here?.count ?? 0) - (a.here?.count ?? 0));
  if (causes.length === 0) return null;
  return h(
    "div",
    {},
    h("h3", {}, "Errors"),
    h(
      "ul",
      { class: "causes" },
      ...causes.map(({ error, here }) => cause(error.reason, here?.count ?? 0, here?.first ?? null)),
    ),
  );
}

function cause(reason: string, n: number, first: ErrorRow["first"]): HTMLElement {
  const at = first ? `first at ${time(first.done_ns)}` : null;
  const status = first?.status ? ` with status ${first.status}` : "";
  const took = first?.first_write_ns ? `, ${time(first.done_ns - first.first_write_ns)} after it was sent` : "";
  return h(
    "li",
    {},
    h("p", {}, h("b", {}, `${count(n)} × ${reason}`), at && h("span", { class: "muted" }, ` ${at}${status}${took}`)),
    first && (first.mismatches ?? []).length > 0
      ? h("ul", { class: "plain" }, ...(first.mismatches ?? []).map((text) => h("li", {}, h("code", {}, text))))
      : first?.detail && !first.body
        ? h("p", {}, h("code", { class: "sample-text" }, first.detail))
        : null,
    first?.trace ? h("p", { class: "muted" }, "Trace ", h("code", {}, first.trace.trace_id)) : null,
    first?.body
      ? h("div", {}, h("p", { class: "muted" }, "Response body:"), h("pre", { class: "excerpt" }, first.body))
      : null,
  );
}
