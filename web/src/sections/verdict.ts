// The first screen: the question, the answer, what to do, how certain it is, key figures, and the
// most important conclusions.

import { h } from "../dom/el";
import { prose } from "../dom/prose";
import { badge, state } from "../dom/status";
import { NONE, shareOr, timeOr } from "../text/figures";
import { times } from "../text/units";
import type { Deciding, Measurement, Page } from "../types";
import { TONES } from "./conclusions";
import { type Section, section } from "./section";

export function verdict(): Section {
  return section("verdict", "Verdict", (page) => ({ above: [headline(page)] }));
}

function headline(page: Page): HTMLElement {
  const { verdict, measurement, run } = page.summary;
  const none = () => (page.summary.requests.issued > 0 ? "too early to judge" : "nothing measured");
  const unknown = run.imported_from ? `not reported by ${run.imported_from}` : none();
  return h(
    "div",
    { class: "headline" },
    verdict.question ? h("p", { class: "objective" }, ...prose(verdict.question)) : null,
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
    next(page),
    strip("glance", verdict.key_figures ?? []),
    strip("deciding", verdict.figures),
    telling(page),
    measurement ? trust(measurement, verdict.sentence, run.model) : null,
  );
}

/** What to do, and how certain the answer is. */
function next(page: Page): HTMLElement | null {
  const { advice = [], certainty } = page.summary.verdict;
  if (advice.length === 0 && !certainty) return null;
  const items: [string, HTMLElement][] = [];
  const [only] = advice;
  if (advice.length === 1 && only) items.push(["what to do", h("dd", {}, ...prose(only))]);
  if (advice.length > 1) {
    items.push(["what to do", h("dd", {}, h("ol", {}, ...advice.map((text) => h("li", {}, ...prose(text)))))]);
  }
  if (certainty) items.push(["certainty", h("dd", {}, ...prose(certainty))]);
  return h("dl", { class: "next" }, ...items.map(([name, value]) => h("div", {}, h("dt", {}, name), value)));
}

function strip(kind: string, figures: Deciding[]): HTMLElement | null {
  if (figures.length === 0) return null;
  const shown = figures.map(({ name, value, note }) =>
    h(
      "div",
      { class: value.endsWith("?") ? "thin" : null, "data-figure": name },
      h("dt", {}, name),
      h("dd", {}, value),
      note ? h("dd", { class: "muted" }, note) : null,
    ),
  );
  return h("dl", { class: kind }, ...shown);
}

/** The most important conclusions. All of them are in their own section. */
function telling(page: Page): HTMLElement | null {
  const { conclusions, verdict } = page.summary;
  const shown = (verdict.key_conclusions ?? []).flatMap((at) => conclusions[at] ?? []);
  if (shown.length === 0) return null;
  const item = (conclusion: (typeof shown)[number]) => {
    const [tone, icon] = TONES[conclusion.tone] ?? TONES.neutral;
    return h("li", {}, badge(conclusion.kind, tone, icon), h("span", {}, ...prose(conclusion.text)));
  };
  return h("ul", { class: "telling" }, ...shown.map(item));
}

type Model = Page["summary"]["run"]["model"];

/** The reasons of the measurement's verdict. */
function trust(m: Measurement, sentence: string, model: Model): HTMLElement {
  const effects: string[] = [];
  if (model === "closed" || model === "mixed") effects.push(`stall p99 ${timeOr(m.stall_p99_ns)}`);
  if (model !== "closed") effects.push(`lateness p99 ${timeOr(m.lateness_p99_ns)}`);
  const parts = [...effects, `generator CPU ${shareOr(m.cpu)}`];
  if (m.sent !== null) parts.splice(effects.length, 0, `${shareOr(m.sent)} of plan started${late(m)}`);
  const apart = shareOr(m.littles_law === null ? null : Math.abs(m.littles_law));
  if (apart !== NONE) parts.push(`Little's law within ${apart}`);
  // For a valid measurement these figures are the reasons.
  if (m.verdict === "VALID") return h("p", { class: "muted trust" }, parts.join(" · "));
  const reasons = m.reasons.filter((reason) => !sentence.includes(reason));
  return h(
    "div",
    { class: "trust" },
    reasons.length > 0
      ? h("ul", { class: "reasons" }, ...reasons.map((reason) => h("li", {}, ...prose(reason))))
      : null,
    h("p", { class: "muted" }, parts.join(" · ")),
  );
}

/** Describes late sending. */
function late(m: Measurement): string {
  const [first, ...more] = m.late_ns;
  if (!first) return "";
  const seconds = (ns: number) => (ns / 1e9).toFixed(1);
  const rest = more.length > 0 ? ` and ${times(more.length)} more` : "";
  return `, late at ${seconds(first[0])}-${seconds(first[1])} s${rest}`;
}
