// WebSocket: connections and messages.

import { bytes, count } from "../text/units";
import type { WebSocketCounts } from "../types";
import { factsSection } from "./facts";
import type { Section } from "./section";

export function websocket(): Section {
  return factsSection("websocket", "WebSocket", ({ websocket: one }) => (one ? items(one) : []));
}

function items(one: WebSocketCounts): [string, string][] {
  const closed = Object.entries(one.closed_by_server).map(([code, n]) => `${code} × ${count(n)}`);
  return [
    ["connections", connections(one)],
    ["closed by the server", closed.join(", ")],
    ["lost connections", some(one.lost)],
    ["failed upgrades", some(one.refused)],
    [
      "messages",
      `${count(one.sent)} sent (${bytes(one.bytes_sent)}), ${count(one.received)} received (${bytes(one.bytes_received)})`,
    ],
    ["unclaimed", some(one.unclaimed)],
    ["pings answered", some(one.pings)],
  ];
}

function connections(one: WebSocketCounts): string {
  const parts = [`${count(one.opened)} opened`];
  if (one.closed_here > 0) parts.push(`${count(one.closed_here)} closed by Loadline`);
  if (one.open > 0) parts.push(`${count(one.open)} open at the end`);
  return parts.join(", ");
}

function some(n: number): string {
  return n > 0 ? count(n) : "";
}
