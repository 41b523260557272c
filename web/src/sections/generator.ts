// Whether the generator kept up: lateness, CPU, stalls; and server metrics.

import type { Env } from "../charts/env";
import { TimeChart } from "../charts/time_chart";
import { cpu, kept, lateness, serverPanel, stalls } from "../data/levels";
import { type Child, fill, h } from "../dom/el";
import { facts } from "../dom/table";
import { figure, shareOr } from "../text/figures";
import { count, share } from "../text/units";
import type { Page } from "../types";
import { markOf, muted, type Section, section } from "./section";

export function generator(env: Env): Section {
  const charts = [
    new TimeChart(env, {
      id: "lateness",
      title: "Lateness",
      note: "Time by which workers handled requests late.",
      draw: lateness,
      phases: true,
    }),
    new TimeChart(env, { id: "cpu", title: "CPU, as shares of a core", draw: cpu, height: 200 }),
    new TimeChart(env, { id: "kept", title: "Kept off the CPU", draw: kept, height: 170 }),
    new TimeChart(env, { id: "stalls", title: "Longest stall of a worker", draw: stalls, height: 170 }),
  ];
  return section("generator", "Generator health", (page) => ({ above: [health(page)] }), charts);
}

function health(page: Page): Child {
  const { lateness: late, measurement: m, run } = page.summary;
  if (!m) return null;
  const items: [string, Child][] = [];
  if (late)
    items.push([
      "lateness",
      `p50 ${figure(late.p50)} · p99 ${figure(late.p99)}${markOf(page, "/lateness/p99")} · max ${figure(late.max)}`,
    ]);
  items.push(["busiest worker", `${share(m.cpu)} of a core, without spinning`]);
  items.push(["waiting for a CPU", `at most ${shareOr(m.waiting)} of the time`]);
  if (run.workers !== undefined) items.push(["workers", count(run.workers)]);
  const closed = late ? null : muted("Requests in a closed loop have no due time, so there is no lateness.");
  return h("div", {}, facts(items, "facts wide"), closed);
}

/** Prefix of the generator's own machine in metrics. */
const OWN = "host.";

function firstOwn(place: HTMLElement): Element | null {
  return place.querySelector("[data-source=host]");
}

/** Creates and removes panels to match the record. */
export function machines(env: Env): Section {
  const place = h("div", { class: "panels" });
  const charts = new Map<string, TimeChart>();
  const own = muted("“host” is the machine that generated the load.");
  const flat = muted("");
  const heading = h("h2", { id: "server-title" }, "Machines");
  const el = h("section", { id: "server", "aria-labelledby": "server-title", hidden: true }, heading, own, place, flat);
  return {
    id: "server",
    title: "Machines",
    el,
    update(page) {
      const constants = page.series.constants ?? [];
      const still = new Set(constants.map((constant) => constant.name));
      for (const { name, unit } of page.series.server ?? []) {
        if (charts.has(name) || still.has(name)) continue;
        const title = unit ? `${name}, ${unit}` : name;
        const draw = (page: Page) => serverPanel(page, name);
        const chart = new TimeChart(env, { id: `server-${charts.size}`, title, draw, height: 180 });
        charts.set(name, chart);
        // Configured sources come before the generator's machine, which is always sampled.
        if (name.startsWith(OWN)) place.append(chart.el);
        else place.insertBefore(chart.el, firstOwn(place));
        chart.el.dataset.source = name.startsWith(OWN) ? "host" : "";
      }
      const items = constants.flatMap(({ name, text }, i): Child[] => [
        i > 0 && ", ",
        h("code", {}, name),
        ` = ${text}`,
      ]);
      fill(flat, "Constant throughout: ", ...items, ".");
      flat.hidden = constants.length === 0;
      own.hidden = !page.series.server?.some((panel) => panel.name.startsWith(OWN));
      const shown = [...charts.values()].map((chart) => chart.update(page));
      el.hidden = !shown.includes(true) && constants.length === 0;
    },
  };
}
