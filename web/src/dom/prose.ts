// Sentences as elements, with code formatted as code.

import { spans } from "../text/spans";
import { type Child, h } from "./el";

export function prose(text: string): Child[] {
  return spans(text).map((span) => (span.code ? h("code", {}, span.text) : span.text));
}
