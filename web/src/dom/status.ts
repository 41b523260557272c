// Shows a state as an icon, a colour and the word.

import { h } from "./el";
import { type IconName, icon } from "./icons";

export type Tone = "good" | "bad" | "warn" | "neutral";

const STATES: Record<string, [Tone, IconName]> = {
  PASS: ["good", "good"],
  FAIL: ["bad", "bad"],
  INCONCLUSIVE: ["warn", "unsure"],
  VALID: ["good", "good"],
  DEGRADED: ["warn", "warn"],
  INVALID: ["bad", "bad"],
};

/** A state in capitals, as in verdicts. */
export function state(word: string): HTMLElement {
  const [tone, name] = STATES[word] ?? (["neutral", "none"] as const);
  return badge(word, tone, name);
}

export function badge(text: string, tone: Tone, name: IconName): HTMLElement {
  return h("span", { class: `badge ${tone}` }, icon(name), text);
}

/** Whether a ledger adds up. */
export function balance(addsUp: boolean): HTMLElement {
  return addsUp ? badge("adds up", "good", "good") : badge("does not add up", "bad", "bad");
}
