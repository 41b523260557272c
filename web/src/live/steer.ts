// The button and dialog that change the rate or users of a running test: current value, wanted
// value, and effect. Escape and "Leave it" change nothing; a refusal is shown at the input.

import { fill, h } from "../dom/el";
import { count, rate } from "../text/units";
import type { Steering } from "../types";

export interface Steer {
  readonly button: HTMLButtonElement;
  /** The dialog, to be placed in the page. */
  readonly dialog: HTMLDialogElement;
  /** The result of the change. */
  readonly result: HTMLElement;
  /** Updates what may be changed. */
  show(load: Steering): void;
  /** Disables the button at the end of the test. */
  over(): void;
}

/** Name and format of the figure. */
const KINDS = {
  rate: { name: "Arrivals per second", title: "Change the rate", show: (value: number) => `${rate(value)}/s` },
  users: { name: "Users", title: "Change the number of users", show: (value: number) => count(value) },
};

const DOES = {
  rate: "The new rate applies half a second from now until the end of the phase. Arrivals before that do not change.",
  users:
    "The new number applies half a second from now until the end of the phase. Surplus users finish their current iteration.",
};

export function steer(): Steer {
  let load: Steering = { quantity: null, reason: "" };
  const result = h("span", { class: "muted", role: "status" });
  const button = h("button", { type: "button", "aria-haspopup": "dialog", hidden: true }, "Change the load");
  const title = h("h2", { id: "steer-title" });
  const text = h("div", { id: "steer-text" });
  const name = h("label", { for: "steer-value" });
  const value = h("input", {
    id: "steer-value",
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    "aria-describedby": "steer-refused",
  });
  const refused = h("p", { id: "steer-refused", class: "refused", role: "alert" });
  const leave = h("button", { type: "button" }, "Leave it");
  const confirm = h("button", { type: "submit" }, "Change");
  const answers = h("div", { class: "answers" }, leave, confirm);
  const field = h("p", { class: "field" }, name, value);
  const form = h("form", { novalidate: true }, title, text, field, refused, answers);
  const dialog = h(
    "dialog",
    { class: "question", "aria-labelledby": "steer-title", "aria-describedby": "steer-text" },
    form,
  );

  const open = () => {
    fill(refused);
    field.hidden = confirm.hidden = load.quantity === null;
    leave.textContent = load.quantity === null ? "Close" : "Leave it";
    if (load.quantity === null) {
      title.textContent = "The load cannot be changed now";
      fill(text, h("p", {}, `${sentence(load.reason)}.`));
    } else {
      const kind = KINDS[load.quantity];
      title.textContent = kind.title;
      const now = `The current value is ${kind.show(load.value)}; the maximum is ${kind.show(load.most)}.`;
      fill(
        text,
        h("p", {}, now),
        h("p", {}, DOES[load.quantity]),
        h("p", {}, "The report lists every change with its time."),
      );
      name.textContent = kind.name;
      value.value = String(load.value);
    }
    dialog.showModal();
    if (load.quantity !== null) value.select();
  };
  button.addEventListener("click", open);
  leave.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (load.quantity === null) return;
    confirm.disabled = true;
    void ask(`${load.quantity}=${value.value.trim()}`).then(({ changed, text: message }) => {
      confirm.disabled = false;
      if (!changed) {
        fill(refused, `The load was not changed: ${message}.`);
        value.focus();
        return;
      }
      dialog.close();
      result.textContent = `The load was changed: ${message}.`;
    });
  });
  return {
    button,
    dialog,
    result,
    show(now) {
      // Updates do not change an open dialog.
      if (!dialog.open) load = now;
      button.hidden = false;
    },
    over() {
      dialog.close();
      button.hidden = true;
      result.textContent = "";
    },
  };
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface Answer {
  changed: boolean;
  /** The effect, or the reason for a refusal. */
  text: string;
}

async function ask(wanted: string): Promise<Answer> {
  try {
    const answer = await fetch("load", { method: "POST", headers: { "content-type": "text/plain" }, body: wanted });
    if (answer.ok) return (await answer.json()) as Answer;
    return { changed: false, text: (await answer.text()).trim() || String(answer.status) };
  } catch {
    return { changed: false, text: "no response from the test" };
  }
}
