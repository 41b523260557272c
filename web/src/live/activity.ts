// Two tabs below the bar of a running test: errors by kind and endpoint, and the log. Both show the
// newest entries and the number of older ones. Unchanged tabs are not redrawn, so that text can be
// selected.

import { type Child, fill, h } from "../dom/el";
import { prose } from "../dom/prose";
import { table } from "../dom/table";
import { count } from "../text/units";
import type { LogLine, Newest, NewestError, Now } from "../types";
import { clock } from "./words";

export interface Activity {
  readonly el: HTMLElement;
  show(now: Now): void;
}

/** Maximum length of a response excerpt; the report has more. */
const EXCERPT = 200;

interface Tab {
  button: HTMLButtonElement;
  panel: HTMLElement;
  /** The data of the last drawing, as JSON. */
  rendered: string;
}

export function activity(): Activity {
  const errors = tab("errors", "Errors");
  const log = tab("log", "Log");
  const tabs = [errors, log];
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "While the test runs" });
  list.append(...tabs.map(({ button }) => button));
  const el = h("div", { class: "activity", hidden: true }, list, ...tabs.map(({ panel }) => panel));
  const choose = (chosen: Tab) => {
    for (const each of tabs) {
      const is = each === chosen;
      each.button.setAttribute("aria-selected", String(is));
      each.button.tabIndex = is ? 0 : -1;
      each.panel.hidden = !is;
    }
    toEnd(log.panel);
  };
  for (const each of tabs) each.button.addEventListener("click", () => choose(each));
  list.addEventListener("keydown", ({ key }) => {
    if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    const other = errors.panel.hidden ? errors : log;
    choose(other);
    other.button.focus();
  });
  choose(errors);
  return {
    el,
    show({ newest, log: entries }) {
      el.hidden = false;
      errors.button.textContent = `Errors (${count(newest.errors_so_far)})`;
      renew(errors, newest.kinds, newest.kinds_omitted, () => kinds(newest));
      const atEnd = log.panel.scrollTop + log.panel.clientHeight >= log.panel.scrollHeight - 4;
      renew(log, entries.lines, entries.left_out, () => lines(entries.lines, entries.left_out));
      if (atEnd) toEnd(log.panel);
    },
  };
}

function tab(id: string, name: string): Tab {
  const attributes = { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}` };
  return {
    button: h("button", attributes, name),
    panel: h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: 0 }),
    rendered: "",
  };
}

/** Redraws a panel if its data has changed. Keeps the scroll position. */
function renew(tab: Tab, of: unknown, more: number, make: () => Child[]): void {
  const rendered = JSON.stringify([of, more]);
  if (rendered === tab.rendered) return;
  tab.rendered = rendered;
  const top = tab.panel.scrollTop;
  fill(tab.panel, ...make());
  tab.panel.scrollTop = top;
}

function toEnd(panel: HTMLElement): void {
  panel.scrollTop = panel.scrollHeight;
}

function kinds(newest: Newest): Child[] {
  if (newest.kinds.length === 0) return [h("p", { class: "muted" }, "No request has failed yet.")];
  const rows = newest.kinds.map((kind): Child[] => [
    h("span", {}, ...prose(kind.reason), found(kind)),
    kind.label,
    count(kind.now),
    count(kind.count),
    kind.first ? clock(kind.first.done_ns) : "",
  ]);
  const columns = [
    { name: "What went wrong" },
    { name: "Endpoint" },
    { name: "Newest second", number: true },
    { name: "So far", number: true },
    { name: "First at", number: true, title: "Minutes and seconds from the start" },
  ];
  return [
    table("Errors by kind and endpoint, the newest first", columns, rows, "kinds"),
    leftOut(newest.kinds_omitted, "kinds"),
  ];
}

/** What the first sample says beyond its reason, such as expected and actual values. */
function found({ first, label }: NewestError): Child {
  if (!first) return null;
  const { status: code, body } = first;
  const found = first.mismatches ?? [];
  // The endpoint and the reason are in other columns.
  const summary = first.detail === `${label}: ${first.reason}` ? first.reason : first.detail;
  const detail = found.length > 0 ? found.join("; ") : summary;
  const isNamed = code === null || `${first.reason} ${detail}`.includes(String(code));
  const status = isNamed ? "" : `status ${code}`;
  const answered = body ? `answered ${body.length > EXCERPT ? `${body.slice(0, EXCERPT)}…` : body}` : "";
  const parts = [status, detail === first.reason ? "" : detail, answered].filter((part) => part !== "");
  return parts.length > 0 ? h("span", { class: "sub muted" }, `first errors: ${parts.join(", ")}`) : null;
}

function lines(entries: LogLine[], more: number): Child[] {
  if (entries.length === 0) return [h("p", { class: "muted" }, "The log is empty.")];
  const items = entries.map(({ at_ns, kind, text }) =>
    h("li", { "data-kind": kind }, h("time", {}, clock(at_ns)), h("b", {}, kind), h("span", {}, text)),
  );
  return [leftOut(more, "lines"), h("ol", { class: "log" }, ...items)];
}

function leftOut(more: number, what: string): Child {
  return more > 0 ? h("p", { class: "muted" }, `${count(more)} more ${what} are not shown.`) : null;
}
