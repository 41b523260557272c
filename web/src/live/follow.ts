// Follows a running test: first a whole page, then each second's additions and the newest second.
// Reports the connection state to the bar; after a lost connection the page keeps its data.

import { merge } from "../state/merge";
import type { Now, Page, Tick } from "../types";

/** `lost`: reconnecting; `gone`: several attempts failed; `ended`: the test reported its end. */
export type Connection = "connecting" | "live" | "lost" | "gone" | "ended";

/** What a test reports at its end: where its record and its report are. */
export interface Ending {
  record: string | null;
  report: string | null;
}

export interface Follower {
  connection: (now: Connection, ending: Ending | null) => void;
  page: (page: Page) => void;
  now: (now: Now) => void;
}

/**
 * Number of failed attempts in a row, a few seconds apart, after which the server counts as gone.
 */
const VAIN = 3;

/** Opens the stream of events. */
export function follow(follower: Follower): void {
  let page: Page | null = null;
  let vain = 0;
  const source = new EventSource("events");
  const read = <T>(event: Event): T => JSON.parse((event as MessageEvent<string>).data) as T;
  const show = (fresh: Page) => {
    page = fresh;
    vain = 0;
    follower.connection("live", null);
    follower.page(page);
  };
  follower.connection("connecting", null);
  source.addEventListener("page", (event) => show(read<Page>(event)));
  source.addEventListener("tick", (event) => {
    if (!page) return;
    const merged = merge(page, read<Tick>(event));
    if (merged) return show(merged);
    // Seconds are missing, so start again with a whole page.
    source.close();
    follow(follower);
  });
  source.addEventListener("now", (event) => follower.now(read<Now>(event)));
  source.addEventListener("end", (event) => {
    source.close();
    const { record = null, report = null } = read<Partial<Ending>>(event);
    follower.connection("ended", { record, report });
  });
  // The browser reconnects by itself unless it was refused; a new connection starts with a whole
  // page.
  source.addEventListener("error", () => {
    vain += 1;
    const isClosed = vain > VAIN || source.readyState === EventSource.CLOSED;
    follower.connection(isClosed ? "gone" : "lost", null);
  });
}
