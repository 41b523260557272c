// Starts the page: reads the data in it, or follows a running test.

import "./charts/crisp";
import "uplot/dist/uPlot.min.css";
import "./style/frame.css";
import "./style/base.css";
import "./style/head.css";
import "./style/live.css";
import "./style/tables.css";
import "./style/charts.css";
import "./style/print.css";
import { Colours } from "./charts/colours";
import type { Env } from "./charts/env";
import { Lazy } from "./charts/lazy";
import { h } from "./dom/el";
import { bar } from "./live/bar";
import { type Connection, follow } from "./live/follow";
import { activity } from "./live/activity";
import { view } from "./page";
import { paper } from "./paper";
import { header } from "./sections/header";
import { withoutGaps } from "./state/imported";
import { Shared } from "./state/shared";
import { choose, onSystemTheme, recall, theme } from "./state/theme";
import type { Page } from "./types";

const spoken = h("div", { class: "unseen", "aria-live": "polite" });
const remakers: (() => void)[] = [];
const env: Env = {
  shared: new Shared(),
  colours: new Colours(),
  lazy: new Lazy(),
  announce: (text) => {
    spoken.textContent = text;
  },
  onRemake: (listener) => remakers.push(listener),
  paper: null,
};

function remake(): void {
  env.colours.forget();
  for (const listener of remakers) listener();
}

function themeButton(): HTMLElement {
  const name = () => (theme() === "dark" ? "Light" : "Dark");
  const button = h("button", { type: "button", class: "theme" }, name());
  button.addEventListener("click", () => {
    choose(theme() === "dark" ? "light" : "dark");
    button.textContent = name();
    remake();
  });
  onSystemTheme(() => {
    button.textContent = name();
    remake();
  });
  return button;
}

/**
 * The data in the page. Null means that a test is running, false that it may only be watched, and
 * undefined that there is no data.
 */
function data(): Page | null | false | undefined {
  try {
    return JSON.parse(document.getElementById("page")?.textContent ?? "") as Page | null | false;
  } catch {
    return undefined;
  }
}

function start(app: HTMLElement): void {
  recall();
  const page = data();
  if (page === undefined) {
    app.replaceChildren(h("p", { class: "empty" }, "This page contains no report: its data is missing or truncated."));
    return;
  }
  let connection: Connection = "connecting";
  const shown = view(
    env,
    header([themeButton()], () => !page && connection !== "ended"),
  );
  paper(env, remake);
  if (page) {
    app.replaceChildren(shown.el, spoken);
    shown.show(withoutGaps(page));
    return;
  }
  const live = bar(page === null);
  const beneath = activity();
  app.replaceChildren(live.el, beneath.el, spoken);
  follow({
    connection: (now, ending) => {
      connection = now;
      live.show(now, ending);
    },
    page: (fresh) => {
      if (!shown.el.isConnected) beneath.el.after(shown.el);
      shown.show(fresh);
    },
    now: (now) => {
      live.newest(now.newest);
      live.load(now.load);
      beneath.show(now);
    },
  });
}

const app = document.getElementById("app");
if (app) start(app);
