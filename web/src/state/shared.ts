// State shared by all charts over time: the zoom and the cursor. Charts subscribe to it; pointer
// and keys change it.

import type { Page } from "../types";
import { Zoom } from "./zoom";

type Listener = () => void;

/** Seconds shown on both sides of a stop rule's time at first. */
const AROUND_STOP = 60;

export class Shared {
  readonly zoom = new Zoom();
  /** Middles of the points in seconds, the x of every chart. */
  xs: number[] = [];
  #cursor: number | null = null;
  #taken = false;
  #onZoom = new Set<Listener>();
  #onCursor = new Set<Listener>();

  /** Takes the points of a page. A finished run that a stop rule ended opens around that time. */
  take(page: Page): void {
    const { from_ns: from, to_ns: to } = page.series.points;
    this.xs = from.map((start, i) => (start + (to[i] ?? start)) / 2e9);
    this.zoom.whole((from[0] ?? 0) / 1e9, (to.at(-1) ?? 0) / 1e9, page.series.width_ns / 1e9);
    const stopped = page.summary.run.stopped;
    if (!this.#taken && stopped) {
      const at = stopped.at_ns / 1e9;
      this.zoom.to(at - AROUND_STOP, at + AROUND_STOP);
    }
    this.#taken = true;
    if (this.#cursor !== null && this.#cursor >= this.xs.length) this.#cursor = null;
  }

  /** Index of the point at the cursor. */
  get cursor(): number | null {
    return this.#cursor;
  }

  set cursor(index: number | null) {
    if (index === this.#cursor) return;
    this.#cursor = index;
    for (const listener of this.#onCursor) listener();
  }

  /** Changes the zoom and notifies subscribers if it changed. */
  zooms(change: (zoom: Zoom) => boolean): void {
    if (!change(this.zoom)) return;
    for (const listener of this.#onZoom) listener();
  }

  onZoom(listener: Listener): void {
    this.#onZoom.add(listener);
  }

  onCursor(listener: Listener): void {
    this.#onCursor.add(listener);
  }

  /** First and last visible point. */
  visible(): [number, number] {
    const [from, to] = this.zoom.range;
    const first = this.xs.findIndex((x) => x >= from);
    const last = this.xs.findLastIndex((x) => x <= to);
    return first === -1 || last === -1 ? [0, this.xs.length - 1] : [first, last];
  }
}
