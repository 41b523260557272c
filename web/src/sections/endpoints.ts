// The endpoint table: a row per label, iterations and transactions in separate groups, sortable by
// every column, with a history picture and details on demand (endpoint_detail.ts).

import { spark } from "../charts/spark";
import { type Child, fill, h } from "../dom/el";
import { scroller } from "../dom/table";
import { type Order, press, sorted } from "../state/sort";
import { rowTime } from "../text/figures";
import type { Page, Row, Summary } from "../types";
import { columns, type EndpointColumn } from "./endpoint_columns";
import { detail } from "./endpoint_detail";
import { muted, type Section } from "./section";

const NAME: EndpointColumn = {
  key: "name",
  name: "name",
  first: "ascending",
  order: (row) => row.text,
  cell: (row) => row.text,
};
const GROUPS: [Row["group"], string][] = [
  ["request", "Requests"],
  ["mqtt", "MQTT"],
  ["websocket", "WebSocket"],
  ["socketio", "Socket.IO"],
  ["custom", "Custom"],
];
const MEANING = {
  iteration: "intended arrival to last response",
  transaction: "first step due to end of last",
  response: "response time: due to last byte",
  service: "service time: first byte written to last byte read",
};

export class Endpoints implements Section {
  readonly id = "endpoints";
  readonly title = "Endpoints";
  readonly el: HTMLElement;
  #body = h("div", { class: "body" });
  #order: Order | null = null;
  #open = new Set<number>();
  #page: Page | null = null;

  constructor() {
    this.el = h(
      "section",
      { id: this.id, "aria-labelledby": "endpoints-title" },
      h("h2", { id: "endpoints-title" }, this.title),
      this.#body,
    );
  }

  update(page: Page): void {
    this.#page = page;
    const { summary } = page;
    // Some tools report all requests together only.
    const hasTotal = summary.all.count > 0 || rowTime(summary.all) !== null;
    if (summary.labels.length === 0 && summary.iterations.length === 0 && !hasTotal) {
      fill(this.#body, muted("No requests were sent, so there are no endpoints."));
      return;
    }
    const rows = [...summary.labels, summary.all];
    const mixed = new Set(rows.map((row) => rowTime(row)?.kind)).size > 1;
    const transactions = summary.transactions ?? [];
    const iterations = saysTheSame(summary) ? [] : summary.iterations;
    const visible = columns([...rows, ...iterations, ...transactions]);
    const seriesById = new Map(page.series.labels.map((label) => [label.id, label]));
    const width = visible.length + 2;
    const tool = summary.run.imported_from ? `as measured by ${summary.run.imported_from}` : null;
    const picture = (row: Row) => {
      const label = seriesById.get(row.id);
      return label ? spark(label, row.text) : null;
    };
    const group = (title: string, members: Row[], total: Row | null, marked: boolean): HTMLElement | null => {
      if (members.length === 0 && !total) return null;
      const lines = [...this.#sorted(members, visible), ...(total ? [total] : [])];
      const heading = h("tr", { class: "group" }, h("th", { scope: "rowgroup", colspan: width }, title));
      return h(
        "tbody",
        {},
        heading,
        ...lines.flatMap((row) => this.#lines(page, row, visible, picture(row), marked, row === total)),
      );
    };
    // An iteration, and below it a row without its pauses. The negative id keeps both apart.
    const unpaused = (row: Row): Row[] =>
      row.unpaused
        ? [row, { ...row, id: -1 - row.id, text: `${row.text}, without pauses`, iteration: row.unpaused }]
        : [row];
    const table = h(
      "table",
      { class: "endpoints" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          this.#heading(NAME),
          ...visible.map((c) => this.#heading(c)),
          h("th", { scope: "col" }, "over time"),
        ),
      ),
      group(`Iterations · ${tool ?? MEANING.iteration}`, iterations.flatMap(unpaused), null, false),
      group(`Transactions · ${tool ?? MEANING.transaction}`, transactions.flatMap(unpaused), null, false),
      ...GROUPS.map(([kind, name]) => {
        // With a single label, its row equals the total.
        const [one] = summary.labels;
        const single = one && summary.labels.length === 1 && one.count === summary.all.count && !tool ? one : null;
        const all = single?.group === kind || (!single && kind === "request" && hasTotal);
        const total = all ? (single ?? summary.all) : null;
        const members = single ? [] : summary.labels.filter((row) => row.group === kind);
        const first = members[0] ?? total;
        const time = first ? rowTime(first)?.kind : undefined;
        const meaning = tool
          ? tool
          : mixed
            ? "response time; service time where only that is known"
            : time
              ? MEANING[time]
              : "";
        return group(meaning ? `${name} · ${meaning}` : name, members, total, mixed);
      }),
    );
    const marks = table.querySelector(".judged") ? muted("* judged by a criterion") : null;
    fill(this.#body, scroller("Endpoints", table), marks, legend());
  }

  #sorted(rows: Row[], visible: EndpointColumn[]): Row[] {
    const order = this.#order;
    const column = order && [NAME, ...visible].find((c) => c.key === order.column);
    return column ? sorted(rows, column.order, order.direction) : rows;
  }

  #heading(column: EndpointColumn): HTMLElement {
    const direction = this.#order?.column === column.key ? this.#order.direction : "none";
    const arrow = direction === "none" ? "" : direction === "ascending" ? "↑" : "↓";
    const pressed = () => {
      this.#order = press(this.#order, column.key, column.first);
      if (this.#page) this.update(this.#page);
    };
    const button = h(
      "button",
      { type: "button", "data-key": `sort-${column.key}`, title: column.title, onclick: pressed },
      column.name,
      h("span", { class: "arrow", "aria-hidden": "true" }, arrow),
    );
    return h("th", { scope: "col", class: column.key === "name" ? null : "number", "aria-sort": direction }, button);
  }

  /** A row, and its details if it is open. */
  #lines(
    page: Page,
    row: Row,
    visible: EndpointColumn[],
    picture: Child,
    marked: boolean,
    total: boolean,
  ): HTMLElement[] {
    const open = this.#open.has(row.id);
    const toggle = () => {
      if (!this.#open.delete(row.id)) this.#open.add(row.id);
      if (this.#page) this.update(this.#page);
    };
    const kind = rowTime(row)?.kind;
    const name = h(
      "button",
      { type: "button", class: "expand", "aria-expanded": String(open), "data-key": `row-${row.id}`, onclick: toggle },
      h("span", { class: "twist", "aria-hidden": "true" }),
      h("span", { class: "text" }, row.text, marked && kind ? h("span", { class: "kind" }, kind) : null),
    );
    const cells = visible.map((column) => {
      const judged = (column.figures?.(row) ?? []).some((figure) => row.judged?.includes(figure));
      const mark = judged ? h("span", { class: "judged", title: "judged by a criterion" }, " *") : null;
      return h("td", { class: "number" }, column.cell(row), mark);
    });
    const line = h(
      "tr",
      { class: total ? "total" : null },
      h("th", { scope: "row" }, name),
      ...cells,
      h("td", {}, picture),
    );
    if (!open) return [line];
    return [line, h("tr", { class: "details" }, h("td", { colspan: visible.length + 2 }, detail(page, row)))];
  }
}

/**
 * Whether each iteration equals one request counted from its due time, so that its row is
 * redundant.
 */
function saysTheSame({ labels, iterations }: Summary): boolean {
  const [request] = labels;
  const [whole] = iterations;
  if (!request || !whole || labels.length > 1 || iterations.length > 1 || !request.response || whole.unpaused)
    return false;
  return whole.count === request.count && whole.errors === request.errors;
}

function legend(): HTMLElement {
  return h(
    "p",
    { class: "muted spark-legend" },
    "Over time: ",
    h("span", { class: "key bars" }),
    "requests per second ",
    h("span", { class: "key errors" }),
    "errors ",
    h("span", { class: "key p95" }),
    "p95 of the time shown in the row, logarithmic, with a separate scale for each row. Open a row to see its details.",
  );
}
