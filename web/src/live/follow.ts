// Follows a running test: a whole page at first, then what each second adds. Tells the bar what is going on; a lost connection
// leaves on the page what was there.

import { merge } from "../state/merge";
import type { Page, Tick } from "../types";

export type Connection = "connecting" | "live" | "lost" | "ended";

export interface Follower {
  connection: (now: Connection) => void;
  page: (page: Page) => void;
}

/** Opens the stream of events beside the page. */
export function follow(follower: Follower): void {
  let page: Page | null = null;
  const source = new EventSource("events");
  const read = <T>(event: Event): T => JSON.parse((event as MessageEvent<string>).data) as T;
  follower.connection("connecting");
  source.addEventListener("page", (event) => {
    page = read<Page>(event);
    follower.connection("live");
    follower.page(page);
  });
  source.addEventListener("tick", (event) => {
    if (!page) return;
    const merged = merge(page, read<Tick>(event));
    if (!merged) {
      // Seconds in between are missing: begin again with a whole page.
      source.close();
      return follow(follower);
    }
    page = merged;
    follower.connection("live");
    follower.page(page);
  });
  source.addEventListener("end", () => {
    source.close();
    follower.connection("ended");
  });
  // The browser tries again by itself; a new connection begins with a whole page.
  source.addEventListener("error", () => follower.connection("lost"));
}
