// Socket.IO: sessions and events.

import { count } from "../text/units";
import type { SocketIoCounts } from "../types";
import { factsSection } from "./facts";
import type { Section } from "./section";

export function socketio(): Section {
  return factsSection("socketio", "Socket.IO", ({ socketio: one }) => (one ? items(one) : []));
}

function items(one: SocketIoCounts): [string, string][] {
  return [
    ["sessions", sessions(one)],
    ["stayed on polling", some(one.not_upgraded)],
    ["refused by the server", some(one.refused)],
    ["ended by the server", some(one.closed_by_server)],
    ["lost sessions", some(one.lost)],
    ["pings stopped", some(one.ping_timeouts)],
    ["events", events(one)],
    ["unclaimed", some(one.unclaimed)],
    ["pings answered", some(one.pings)],
    ["polling requests", polls(one)],
  ];
}

function sessions(one: SocketIoCounts): string {
  const parts = [`${count(one.opened)} opened`];
  if (one.upgraded > 0) parts.push(`${count(one.upgraded)} moved to a WebSocket`);
  if (one.closed_here > 0) parts.push(`${count(one.closed_here)} closed by Loadline`);
  if (one.open > 0) parts.push(`${count(one.open)} open at the end`);
  return parts.join(", ");
}

function events(one: SocketIoCounts): string {
  const parts = [`${count(one.sent)} sent`, `${count(one.received)} received`];
  if (one.acknowledged > 0) parts.push(`${count(one.acknowledged)} acknowledged`);
  return parts.join(", ");
}

function polls(one: SocketIoCounts): string {
  if (one.polls === 0) return "";
  const refused = one.refused_polls;
  return count(one.polls) + (refused > 0 ? `, ${count(refused)} with another status than 200` : "");
}

function some(n: number): string {
  return n > 0 ? count(n) : "";
}
