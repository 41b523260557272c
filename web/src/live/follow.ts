// Follows a running test: a whole page at first, then what each second adds, and what the newest second was like. Tells the bar what is
// going on; a lost connection leaves on the page what was there.

import { merge } from "../state/merge";
import type { Now, Page, Tick } from "../types";

/** `lost`: it is being tried again; `gone`: that has failed several times; `ended`: the test said that it is over. */
export type Connection = "connecting" | "live" | "lost" | "gone" | "ended";

/** What a test says when it is over: where its record and its report are. */
export interface Ending {
  record: string | null;
  report: string | null;
}

export interface Follower {
  connection: (now: Connection, ending: Ending | null) => void;
  page: (page: Page) => void;
  now: (now: Now) => void;
}

/** So many vain tries in a row, a few seconds apart: nobody is there any more. */
const VAIN = 3;

/** Opens the stream of events beside the page. */
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
    // Seconds in between are missing: begin again with a whole page.
    source.close();
    follow(follower);
  });
  source.addEventListener("now", (event) => follower.now(read<Now>(event)));
  source.addEventListener("end", (event) => {
    source.close();
    const { record = null, report = null } = read<Partial<Ending>>(event);
    follower.connection("ended", { record, report });
  });
  // The browser tries again by itself, unless it was turned away; a new connection begins with a whole page.
  source.addEventListener("error", () => {
    vain += 1;
    const gone = vain > VAIN || source.readyState === EventSource.CLOSED;
    follower.connection(gone ? "gone" : "lost", null);
  });
}
