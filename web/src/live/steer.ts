// The button that changes the rate or the users of a running test, and the question before it: what there is, what is wanted, what a
// change does. Escape and "Leave it" leave the load alone; a refusal stands where the number was written.

import { fill, h } from "../dom/el";
import { count, rate } from "../text/units";
import type { Steering } from "../types";

export interface Steer {
  readonly button: HTMLButtonElement;
  /** The question, for somewhere in the page. */
  readonly dialog: HTMLDialogElement;
  /** What came of it. */
  readonly result: HTMLElement;
  /** What may be changed by now. */
  show(load: Steering): void;
  /** There is nothing to change any more. */
  over(): void;
}

/** What the figure is called, and how it is written. */
const KINDS = {
  rate: { name: "Arrivals per second", title: "Change the rate", show: (value: number) => `${rate(value)}/s` },
  users: { name: "Users", title: "Change the number of users", show: (value: number) => count(value) },
};

const DOES = {
  rate: "From half a second ahead on, arrivals come at the new rate, up to the end of the phase. What was due before stays as it was.",
  users:
    "From half a second ahead on there are so many, up to the end of the phase. Who is one too many carries the iteration under way to its end.",
};

export function steer(): Steer {
  let load: Steering = { what: null, why: "" };
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
    field.hidden = confirm.hidden = load.what === null;
    leave.textContent = load.what === null ? "Close" : "Leave it";
    if (load.what === null) {
      title.textContent = "The load cannot be changed now";
      fill(text, h("p", {}, `${sentence(load.why)}.`));
    } else {
      const kind = KINDS[load.what];
      title.textContent = kind.title;
      const now = `There are ${kind.show(load.value)} now; at most ${kind.show(load.most)} can be asked for.`;
      fill(
        text,
        h("p", {}, now),
        h("p", {}, DOES[load.what]),
        h("p", {}, "The report says what was changed, and when."),
      );
      name.textContent = kind.name;
      value.value = String(load.value);
    }
    dialog.showModal();
    if (load.what !== null) value.select();
  };
  button.addEventListener("click", open);
  leave.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (load.what === null) return;
    confirm.disabled = true;
    void ask(`${load.what}=${value.value.trim()}`).then(({ changed, text: said }) => {
      confirm.disabled = false;
      if (!changed) {
        fill(refused, `It was not changed: ${said}.`);
        value.focus();
        return;
      }
      dialog.close();
      result.textContent = `The load was changed: ${said}.`;
    });
  });
  return {
    button,
    dialog,
    result,
    show(now) {
      // Whoever is about to write a figure goes on with the question that was asked.
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
  /** What will be, or why it stays as it is. */
  text: string;
}

async function ask(wanted: string): Promise<Answer> {
  try {
    const answer = await fetch("load", { method: "POST", headers: { "content-type": "text/plain" }, body: wanted });
    if (answer.ok) return (await answer.json()) as Answer;
    return { changed: false, text: (await answer.text()).trim() || String(answer.status) };
  } catch {
    return { changed: false, text: "nobody answers" };
  }
}
