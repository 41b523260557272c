// What every chart needs from the page. Created once, in main.

import type { Shared } from "../state/shared";
import type { Colours } from "./colours";
import type { Lazy } from "./lazy";

export interface Env {
  shared: Shared;
  colours: Colours;
  lazy: Lazy;
  /** Text for screen readers. */
  announce: (text: string) => void;
  /** Calls back when every chart must be recreated: for another theme, or for printing. */
  onRemake: (listener: () => void) => void;
  /** Width of charts on paper; null means the width of their container. */
  paper: number | null;
}
