// The bar of a running test: progress, figures of the newest second, connection state, and the
// buttons that change the load and stop the test. After the test it links to the report.

import { fill, h } from "../dom/el";
import { badge } from "../dom/status";
import type { Newest, Steering } from "../types";
import type { Connection, Ending } from "./follow";
import { steer } from "./steer";
import { stop } from "./stop";
import { figures, progress, type Shown } from "./words";

export interface Bar {
  readonly el: HTMLElement;
  show(now: Connection, ending: Ending | null): void;
  newest(newest: Newest): void;
  load(load: Steering): void;
}

/** Without `controls`, the page cannot stop or change the test. */
export function bar(controls: boolean): Bar {
  const text = h("span", { class: "connection", role: "status" });
  const csv = h("a", { class: "button", href: "run.csv", download: true, title: "Data so far" }, "CSV");
  const ends = stop();
  const steers = steer();
  const place = h("span", { class: "place" });
  const track = h("div", {
    class: "track",
    role: "progressbar",
    "aria-label": "Planned time",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  });
  const done = h("div", {});
  track.append(done);
  const progressBar = h("div", { class: "progress", hidden: true }, place, track);
  const list = h("dl", { class: "now", "aria-label": "The newest second", hidden: true });
  const tools = h("span", { class: "live-tools" }, csv, ...(controls ? [steers.button, ends.button] : []));
  const el = h(
    "div",
    { class: "live-bar" },
    text,
    tools,
    ...(controls ? [steers.result, ends.result] : []),
    progressBar,
    list,
    ...(controls ? [steers.dialog, ends.dialog] : []),
  );
  let shown: Connection | null = null;
  return {
    el,
    show(now, ending) {
      if (now === shown) return;
      shown = now;
      el.dataset.connection = now;
      if (now === "ended") {
        ends.over();
        steers.over();
        for (const element of [csv, progressBar, list]) element.hidden = true;
      }
      fill(text, ...words(now, ending));
    },
    load(load) {
      if (shown !== "ended") steers.show(load);
    },
    newest(newest) {
      if (shown === "ended") return;
      const { text, share } = progress(newest);
      place.textContent = text;
      track.hidden = share === null;
      if (share !== null) {
        done.style.width = `${share * 100}%`;
        track.setAttribute("aria-valuenow", `${Math.floor(share * 100)}`);
      }
      fill(list, ...figures(newest).map(item));
      progressBar.hidden = false;
      list.hidden = false;
    },
  };
}

function item({ name, value, note, bad }: Shown): HTMLElement {
  const words = h("dd", { class: "muted" }, note);
  return h("div", {}, h("dt", {}, name), h("dd", { class: bad && "bad-text" }, value), words);
}

function words(now: Connection, ending: Ending | null): (HTMLElement | string)[] {
  switch (now) {
    case "connecting":
      return [badge("connecting", "neutral", "none"), "Waiting for the first data."];
    case "live":
      return [badge("live", "good", "good")];
    case "lost":
      return [badge("connection lost", "bad", "bad"), "The page shows the last data received. Reconnecting."];
    case "gone":
      return [
        badge("unreachable", "bad", "bad"),
        "The test has ended, or its machine cannot be reached. This page keeps the data it received; the remaining data is in the record of the run.",
      ];
    case "ended":
      return [badge("ended", "neutral", "none"), ...over(ending)];
  }
}

/** A page from the network may not link to a file, so its path is shown for copying. */
function over(ending: Ending | null): (HTMLElement | string)[] {
  const message = "The test has ended. These are its final figures; ";
  const path = ending?.report;
  if (!path) return [h("span", {}, `${message}there is no record.`)];
  const copy = h("button", { type: "button" }, "Copy the path");
  copy.addEventListener("click", () => {
    void navigator.clipboard.writeText(path).then(() => {
      copy.textContent = "Copied";
    });
  });
  return [h("span", {}, `${message}the full report is `, h("code", { class: "path" }, path)), copy];
}
