// Imported runs: figures that the tool did not report become NaN, which every text shows as a dash,
// never as zero.

import type { Page, Requests, Row } from "../types";

const UNKNOWN = Number.NaN;

/** Returns the page with every figure present. */
export function withoutGaps(page: Page): Page {
  const { summary } = page;
  if (!summary.run.imported_from) return page;
  const level = { mean: UNKNOWN, max: UNKNOWN };
  return {
    ...page,
    summary: {
      ...summary,
      exit_code: UNKNOWN,
      in_flight: level,
      users: level,
      connections_opened: UNKNOWN,
      run: {
        ...summary.run,
        elapsed_ns: summary.run.elapsed_ns ?? UNKNOWN,
        started_utc: summary.run.started_utc ?? "",
      },
      all: row(summary.all),
      labels: summary.labels.map(row),
      iterations: summary.iterations.map(row),
      requests: requests(summary.requests),
    },
  };
}

function row(reported: Partial<Row> & Pick<Row, "id" | "group" | "text">): Row {
  return {
    count: UNKNOWN,
    errors: UNKNOWN,
    error_share: null,
    per_second: UNKNOWN,
    service: null,
    response: null,
    iteration: null,
    codes: {},
    none: {},
    bytes_out: UNKNOWN,
    bytes_in: UNKNOWN,
    ...reported,
  };
}

function requests(reported: Partial<Requests> | undefined): Requests {
  return {
    issued: UNKNOWN,
    ok: UNKNOWN,
    failed: UNKNOWN,
    none: UNKNOWN,
    none_by_class: {},
    redirects: 0,
    in_flight: 0,
    adds_up: true,
    ...reported,
  };
}
