// What every chart needs from the page around it. Made once, in main.

import type { Shared } from "../state/shared";
import type { Colours } from "./colours";
import type { Lazy } from "./lazy";

export interface Env {
  shared: Shared;
  colours: Colours;
  lazy: Lazy;
  /** Said by screen readers. */
  announce: (text: string) => void;
  /** Called when every chart must be made anew: another theme, or paper instead of a screen. */
  onRemake: (listener: () => void) => void;
  /** On paper charts are this wide; null: as wide as their place. */
  paper: number | null;
}
