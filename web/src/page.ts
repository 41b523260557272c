// The page: header, sections in order, table of contents, and the zoom strip.

import { moment } from "./charts/axes";
import type { Env } from "./charts/env";
import { fill, h } from "./dom/el";
import { about } from "./sections/about";
import { conclusions } from "./sections/conclusions";
import { concurrency, offeredLoad } from "./sections/concurrency";
import { criteria } from "./sections/criteria";
import { custom } from "./sections/custom";
import { deliveries } from "./sections/deliveries";
import { definitions } from "./sections/definitions";
import { Endpoints } from "./sections/endpoints";
import { generator, machines } from "./sections/generator";
import type { Header } from "./sections/header";
import { distribution, latency } from "./sections/latency";
import { http2 } from "./sections/http2";
import { socketio } from "./sections/socketio";
import { websocket } from "./sections/websocket";
import { mocks } from "./sections/mocks";
import { nodes } from "./sections/nodes";
import { plan } from "./sections/plan";
import { provenance } from "./sections/provenance";
import { recovery } from "./sections/recovery";
import { saturation } from "./sections/saturation";
import type { Section } from "./sections/section";
import { streams } from "./sections/streams";
import { throughput } from "./sections/throughput";
import { traces } from "./sections/traces";
import { verdict } from "./sections/verdict";
import type { Page } from "./types";

export interface View {
  readonly el: HTMLElement;
  show(page: Page): void;
}

export function view(env: Env, header: Header): View {
  const sections: Section[] = [
    verdict(),
    about(),
    plan(env),
    criteria(env),
    new Endpoints(),
    streams(env),
    latency(env),
    distribution(env),
    throughput(env),
    machines(env),
    concurrency(env),
    http2(),
    websocket(),
    socketio(),
    deliveries(),
    offeredLoad(env),
    generator(env),
    nodes(),
    saturation(),
    traces(),
    custom(env),
    mocks(),
    recovery(),
    conclusions(),
    provenance(),
    definitions(),
  ];
  const contents = h("nav", { class: "contents", "aria-label": "Contents" });
  const main = h("main", {}, ...sections.map((section) => section.el));
  const el = h("div", { class: "page" }, header.el, contents, main, zoomStrip(env));
  follow(sections, contents);
  let listed = "";
  return {
    el,
    show(page) {
      env.shared.take(page);
      header.update(page);
      for (const section of sections) section.update(page);
      // Imported runs have no data for these sections.
      const untold = page.summary.run.imported_from ? ["concurrency", "generator"] : [];
      for (const section of sections) if (untold.includes(section.id)) section.el.hidden = true;
      const visible = sections.filter((section) => !section.el.hidden);
      const list = visible.map((section) => section.id).join();
      if (list === listed) return;
      listed = list;
      fill(
        contents,
        h("ol", {}, ...visible.map(({ id, title }) => h("li", {}, h("a", { href: `#${id}`, "data-key": id }, title)))),
      );
    },
  };
}

/** Highlights the current section in the table of contents. */
function follow(sections: Section[], contents: HTMLElement): void {
  const mark = (id: string) => {
    for (const link of contents.querySelectorAll("a")) {
      if (link.hash === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const observer = new IntersectionObserver(
    (entries) => {
      const entered = entries.find((entry) => entry.isIntersecting);
      if (entered) mark(entered.target.id);
    },
    { rootMargin: "-10% 0px -80% 0px" },
  );
  for (const section of sections) observer.observe(section.el);
}

/** The range that every chart shows, with a way back. Hidden while the whole run is visible. */
function zoomStrip(env: Env): HTMLElement {
  const text = h("span", {});
  const undo = h("button", { type: "button", onclick: () => env.shared.zooms((zoom) => zoom.undo()) }, "back");
  const reset = h("button", { type: "button", onclick: () => env.shared.zooms((zoom) => zoom.reset()) }, "whole run");
  const el = h("div", { class: "zoom-strip", role: "status", hidden: true }, text, undo, reset);
  env.shared.onZoom(() => {
    const [from, to] = env.shared.zoom.range;
    const step = Math.max((to - from) / 100, 0.1);
    el.hidden = !env.shared.zoom.zoomed;
    text.textContent = `Charts show ${moment(from, step)} to ${moment(to, step)}`;
  });
  return el;
}
