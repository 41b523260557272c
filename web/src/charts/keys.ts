// Keys on a chart over time: arrows move the cursor, + and - zoom around it, Escape shows the whole
// run.

import type { Shared } from "../state/shared";

export const KEYS_HELP =
  "Arrow keys move the cursor, plus and minus zoom, Backspace zooms back, Escape shows the whole run.";

/** Handles a key. Returns false if the key has no function. */
export function press(key: string, large: boolean, shared: Shared): boolean {
  const [first, last] = shared.visible();
  const at = shared.cursor;
  const step = large ? 10 : 1;
  const around = shared.xs[at ?? Math.floor((first + last) / 2)] ?? 0;
  switch (key) {
    case "ArrowRight":
      shared.cursor = at === null ? first : Math.min(Math.max(at + step, first), last);
      return true;
    case "ArrowLeft":
      shared.cursor = at === null ? last : Math.max(Math.min(at - step, last), first);
      return true;
    case "Home":
      shared.cursor = first;
      return true;
    case "End":
      shared.cursor = last;
      return true;
    case "+":
    case "=":
      shared.zooms((zoom) => zoom.by(0.5, around));
      return true;
    case "-":
      shared.zooms((zoom) => zoom.by(2, around));
      return true;
    case "Backspace":
      shared.zooms((zoom) => zoom.undo());
      return true;
    case "Escape":
      shared.zooms((zoom) => zoom.reset());
      shared.cursor = null;
      return true;
    default:
      return false;
  }
}
