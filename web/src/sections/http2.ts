// HTTP/2: connections, streams, and what requests waited for.

import { type Child } from "../dom/el";
import { facts } from "../dom/table";
import { figure } from "../text/figures";
import { bytes, count, decimal, time } from "../text/units";
import type { Http2, Page } from "../types";
import { muted, type Section, section } from "./section";

const CAUSES: Record<string, string> = {
  goaway: "after GOAWAY",
  idle: "by the server while idle",
  lost: "lost with requests in flight",
  violation: "because the server violated the protocol",
  client: "by Loadline",
};

export function http2(): Section {
  return section("http2", "HTTP/2", (page: Page) => {
    const one = page.summary.http2;
    if (!one) return {};
    const known = items(page.summary.run.http ?? "", one).filter(([, text]) => text !== "");
    return { above: [facts(known, "facts wide"), one.sentence ? muted(one.sentence) : null] };
  });
}

function items(version: string, one: Http2): [string, Child][] {
  return [
    ["version", version],
    ["connections", connections(one)],
    ["requests per connection", requestsPerConnection(one)],
    ["open streams", streams(one)],
    ["waited for a stream", waited(one)],
    ["sent again", requests(one.resent)],
    ["on lost connections", requests(one.lost_requests)],
    ["RST_STREAM received", codes(one.resets_received)],
    ["RST_STREAM sent", codes(one.resets_sent)],
    ["GOAWAY received", codes(one.goaways)],
    [
      "uploads blocked",
      one.upload_blocked_ns > 0 ? `${time(one.upload_blocked_ns)} by flow control, all uploads together` : "",
    ],
    ["headers", headers(one)],
  ];
}

function connections(one: Http2): string {
  const opened = `${count(one.opened)} opened, ${count(one.connections.max)} open at most`;
  const closed = Object.entries(one.closed).map(([cause, n]) => `${count(n)} ${CAUSES[cause] ?? cause}`);
  return closed.length > 0 ? `${opened}; closed: ${closed.join(", ")}` : opened;
}

function requestsPerConnection(one: Http2): string {
  const spread = one.requests_per_connection;
  if (!spread || spread.connections < 2) return "";
  return `${count(spread.min)} at least, ${short(spread.mean)} on average, ${count(spread.max)} at most`;
}

function streams(one: Http2): string {
  const text = `${short(one.streams.mean)} on average, ${count(one.streams.max)} at most`;
  return one.stream_limit === null ? text : `${text}; ${count(one.stream_limit)} allowed per connection`;
}

function waited(one: Http2): string {
  const wait = one.stream_wait;
  if (!wait) return "";
  return `${count(one.waited)} requests: p50 ${figure(wait.p50)}, p99 ${figure(wait.p99)}, max ${figure(wait.max)}`;
}

function requests(n: number): string {
  return n > 0 ? `${count(n)} requests` : "";
}

function codes(counts: Record<string, number>): string {
  const texts = Object.entries(counts).map(([code, n]) => `${code} ${count(n)}`);
  return texts.join(", ");
}

function headers({ header_bytes: size }: Http2): string {
  const sent = `${bytes(size.sent)} as ${bytes(size.sent_compressed)}`;
  return `sent ${sent}, received ${bytes(size.received)} as ${bytes(size.received_compressed)}`;
}

function short(value: number): string {
  return decimal(Math.round(value * 10) / 10);
}
