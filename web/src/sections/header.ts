// The top of the page: test, target, time and end of the run.

import { fill, h } from "../dom/el";
import { mark } from "../dom/icons";
import { badge } from "../dom/status";
import { duration } from "../text/units";
import type { Page } from "../types";

export interface Header {
  readonly el: HTMLElement;
  update(page: Page): void;
}

/** `tools` are buttons of the page; `live` is true while the page follows the test. */
export function header(tools: HTMLElement[], live: () => boolean): Header {
  const text = h("div", {});
  const el = h(
    "header",
    { class: "top" },
    h("div", { class: "brand" }, mark(), h("span", {}, "Loadline"), h("span", { class: "tools" }, ...tools)),
    text,
  );
  return {
    el,
    update(page) {
      const { run } = page.summary;
      document.title = `${run.name} – load test report`;
      const when = run.started_utc.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
      const facts = [
        when,
        run.elapsed_ns > 0 ? duration(Math.round(run.elapsed_ns / 1e8) * 1e8) : "",
        page.summary.verdict.key_figures ? "" : run.load,
        run.http ?? "",
      ].filter((fact) => fact !== "");
      fill(
        text,
        h("h1", {}, run.name),
        run.target ? h("p", { class: "target" }, run.target) : null,
        facts.length > 0 ? h("p", { class: "muted" }, facts.join(" · ")) : null,
        ending(page, live()),
      );
    },
  };
}

function ending(page: Page, live: boolean): HTMLElement | null {
  const { state, ended_by: by, record_ends_ns: cut } = page.summary.run;
  if (cut !== null && cut !== undefined) {
    const text = `The record ends at ${duration(cut)} because it is damaged, or could not be written. All figures cover the time before that.`;
    return h("p", { class: "ending" }, badge("incomplete record", "warn", "warn"), text);
  }
  if (state === "running" && !live) {
    const text = "This run was interrupted: its record is incomplete. The page shows the recorded part.";
    return h("p", { class: "ending" }, badge("cut off", "warn", "warn"), text);
  }
  if (state === "interrupted") {
    return h("p", { class: "ending" }, badge("ended early", "warn", "warn"), by ?? "");
  }
  return null;
}
