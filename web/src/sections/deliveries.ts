// Deliveries: published messages, and how many of them listeners and subscribers received.

import { type Child, h } from "../dom/el";
import { table } from "../dom/table";
import { NONE } from "../text/figures";
import { count } from "../text/units";
import type { DeliveryRow, Page } from "../types";
import { muted, type Section, section } from "./section";

const NUMBERS = [
  "Published",
  "Refused",
  "Unknown",
  "Expected",
  "Received",
  "Lost",
  "Duplicates",
  "Out of order",
  "Not due",
];
const COLUMNS = [{ name: "Receivers" }, ...NUMBERS.map((name) => ({ name, number: true }))];
const MEANING =
  "Expected: deliveries of all messages that were not refused, to each receiver that was connected. Unknown: messages without an answer. Not due: deliveries to receivers that were not connected.";

export function deliveries(): Section {
  return section("deliveries", "Deliveries", (page: Page) => {
    const rows = page.summary.deliveries ?? [];
    if (rows.length === 0) return {};
    const lines = rows.flatMap(remarks).map((line) => h("li", {}, line));
    return {
      above: [
        table("Deliveries", COLUMNS, rows.map(cells)),
        muted(MEANING),
        lines.length > 0 ? h("ul", {}, ...lines) : null,
      ],
    };
  });
}

function cells(row: DeliveryRow): Child[] {
  return [
    row.receivers === "listeners" ? "WebSocket listeners" : "MQTT subscribers",
    count(row.published),
    count(row.refused),
    count(row.unknown),
    row.expected === null ? NONE : count(row.expected),
    count(row.received),
    lost(row),
    count(row.duplicates),
    count(row.out_of_order),
    row.not_due === null ? NONE : count(row.not_due),
  ];
}

/** A range if some messages are unknown. */
function lost({ lost }: DeliveryRow): string {
  if (lost === null) return NONE;
  return lost.least === lost.most ? count(lost.most) : `${count(lost.least)} to ${count(lost.most)}`;
}

/** Connections of listeners, and what the table does not show. */
function remarks(row: DeliveryRow): string[] {
  const { planned, connected, left } = row;
  const known = planned === null || planned === undefined ? [] : [planned];
  const connections = known.map(
    (all) => `listeners: ${count(connected)} of ${count(all)} connected, ${count(left)} of them lost their connection`,
  );
  const others: [number, string][] = [
    [row.receivers_with_losses, "listeners that missed a message"],
    [row.received_not_due, "messages received although they were refused or published before the receiver was ready"],
    [
      row.foreign,
      row.receivers === "listeners"
        ? "messages received from another run"
        : "messages received without a header of this run",
    ],
    [row.unstamped, "messages received without the fields of `push`"],
  ];
  const some = others.filter(([n]) => n > 0).map(([n, text]) => `${text}: ${count(n)}`);
  return [...connections, ...some];
}
