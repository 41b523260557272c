// The bar of a running test: whether the page is up to date, and a button that stops the test.

import { fill, h } from "../dom/el";
import { badge } from "../dom/status";
import type { Connection } from "./follow";

export interface Bar {
  readonly el: HTMLElement;
  show(now: Connection): void;
}

export function bar(): Bar {
  const text = h("span", { role: "status" });
  const result = h("span", { class: "muted", role: "status" });
  const stop = h("button", { type: "button", class: "stop" }, "Stop the test");
  stop.addEventListener("click", () => void ask(stop, result));
  const el = h("div", { class: "live-bar" }, text, stop, result);
  let shown: Connection | null = null;
  return {
    el,
    show(now) {
      if (now === shown) return;
      shown = now;
      stop.hidden = now === "ended";
      fill(text, ...words(now));
    },
  };
}

function words(now: Connection): (HTMLElement | string)[] {
  switch (now) {
    case "connecting":
      return [badge("connecting", "neutral", "none"), "The first figures are on their way."];
    case "live":
      return [badge("live", "good", "good"), "The test is running; this page follows it second by second."];
    case "lost":
      return [
        badge("connection lost", "bad", "bad"),
        "What is shown is as old as the last second that arrived. Trying again.",
      ];
    case "ended":
      return [
        badge("ended", "neutral", "none"),
        "The test is over. These are its last figures; the full report is in its record.",
      ];
  }
}

async function ask(button: HTMLButtonElement, result: HTMLElement): Promise<void> {
  button.disabled = true;
  result.textContent = "Asking the test to stop …";
  try {
    const answer = await fetch("stop", { method: "POST" });
    const said = (await answer.text()).trim();
    result.textContent = answer.ok
      ? said || "The test was asked to stop."
      : `It was not stopped: ${said || answer.status}`;
    button.disabled = answer.ok;
  } catch {
    result.textContent = "It was not stopped: nobody answers.";
    button.disabled = false;
  }
}
