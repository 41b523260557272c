// The first thing to read: do the criteria hold, can the measurement be trusted, one sentence, and the figures that decided it.

import { h } from "../dom/el";
import { prose } from "../dom/prose";
import { badge, state } from "../dom/status";
import { NONE, shareOr, timeOr } from "../text/figures";
import type { Measurement, Page } from "../types";
import { type Section, section } from "./section";

export function verdict(): Section {
  return section("verdict", "Verdict", (page) => ({ above: [headline(page)] }));
}

function headline(page: Page): HTMLElement {
  const { verdict, measurement, run } = page.summary;
  const none = () => (page.summary.requests.issued > 0 ? "too early to tell" : "nothing measured");
  const unknown = run.imported_from ? `not told by ${run.imported_from}` : none();
  const figures = verdict.figures.map(({ name, value, note }) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value), note ? h("dd", { class: "muted" }, note) : null),
  );
  return h(
    "div",
    { class: "headline" },
    h(
      "div",
      { class: "states" },
      h(
        "div",
        {},
        h("span", { class: "muted" }, "criteria"),
        verdict.criteria ? state(verdict.criteria) : badge("none given", "neutral", "none"),
      ),
      h(
        "div",
        {},
        h("span", { class: "muted" }, "measurement"),
        measurement ? state(measurement.verdict) : badge(unknown, "neutral", "none"),
      ),
    ),
    h("p", { class: "sentence" }, ...prose(verdict.sentence)),
    figures.length > 0 ? h("dl", { class: "deciding" }, ...figures) : null,
    measurement ? trust(measurement, run.model === "closed") : null,
  );
}

/** What the measurement's verdict stands on. */
function trust(m: Measurement, closed: boolean): HTMLElement {
  const effect = closed ? `stall p99 ${timeOr(m.stall_p99_ns)}` : `lateness p99 ${timeOr(m.lateness_p99_ns)}`;
  const parts = [effect, `generator CPU ${shareOr(m.cpu)}`];
  if (m.sent !== null) parts.splice(1, 0, `${shareOr(m.sent)} of plan sent${late(m)}`);
  const apart = shareOr(m.littles_law === null ? null : Math.abs(m.littles_law));
  if (apart !== NONE) parts.push(`Little's law within ${apart}`);
  // The reasons of a valid one are these figures.
  if (m.verdict === "VALID") return h("p", { class: "muted trust" }, parts.join(" · "));
  return h(
    "div",
    { class: "trust" },
    h("ul", { class: "reasons" }, ...m.reasons.map((reason) => h("li", {}, ...prose(reason)))),
    h("p", { class: "muted" }, parts.join(" · ")),
  );
}

/** When what was sent was sent too late. */
function late(m: Measurement): string {
  const [first, ...more] = m.late_ns;
  if (!first) return "";
  const seconds = (ns: number) => (ns / 1e9).toFixed(1);
  const rest = more.length > 0 ? ` and ${more.length} times more` : "";
  return `, late at ${seconds(first[0])}-${seconds(first[1])} s${rest}`;
}
