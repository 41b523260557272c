// The button that ends the test, and the question before it: what happens, what is kept. Escape and "Carry on" leave the test alone.

import { h } from "../dom/el";

export interface Stop {
  readonly button: HTMLButtonElement;
  /** The question, for somewhere in the page. */
  readonly dialog: HTMLDialogElement;
  /** What came of it. */
  readonly result: HTMLElement;
  /** There is nothing to stop any more. */
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
        "No new work begins. What is under way may still end, for as long as the plan lets it; then the report is written.",
      ),
      h("p", {}, "Everything measured so far is kept. The report says that the test was ended early, by this button."),
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
