// The button and dialog that stop the test. Escape and "Carry on" change nothing.

import { h } from "../dom/el";

export interface Stop {
  readonly button: HTMLButtonElement;
  /** The dialog, to be placed in the page. */
  readonly dialog: HTMLDialogElement;
  /** The result of the request. */
  readonly result: HTMLElement;
  /** Disables the button at the end of the test. */
  over(): void;
}

export function stop(): Stop {
  const result = h("span", { class: "muted", role: "status" });
  const button = h("button", { type: "button", class: "stop", "aria-haspopup": "dialog" }, "Stop the test");
  const carryOn = h("button", { type: "button" }, "Carry on");
  const confirm = h("button", { type: "button", class: "stop" }, "Stop");
  const dialog = h(
    "dialog",
    { class: "question", "aria-labelledby": "stop-title", "aria-describedby": "stop-text" },
    h("h2", { id: "stop-title" }, "Stop the test?"),
    h(
      "div",
      { id: "stop-text" },
      h(
        "p",
        {},
        "No new requests start. Requests in flight may finish within the plan's drain time. Then the report is written.",
      ),
      h("p", {}, "All results are kept. The report shows that the test was ended early by this button."),
    ),
    h("div", { class: "answers" }, carryOn, confirm),
  );
  button.addEventListener("click", () => dialog.showModal());
  carryOn.addEventListener("click", () => dialog.close());
  confirm.addEventListener("click", () => {
    dialog.close();
    void ask(button, result);
  });
  return {
    button,
    dialog,
    result,
    over() {
      dialog.close();
      button.hidden = true;
      result.textContent = "";
    },
  };
}

async function ask(button: HTMLButtonElement, result: HTMLElement): Promise<void> {
  button.disabled = true;
  result.textContent = "Stopping the test …";
  try {
    const answer = await fetch("stop", { method: "POST" });
    const message = (await answer.text()).trim();
    result.textContent = answer.ok
      ? message || "The test is stopping."
      : `The test was not stopped: ${message || answer.status}`;
    button.disabled = answer.ok;
  } catch {
    result.textContent = "The test was not stopped: it does not respond.";
    button.disabled = false;
  }
}
