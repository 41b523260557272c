// The time range shown by every chart, with a way back. Pure state in seconds.

export type Range = readonly [number, number];

export class Zoom {
  #full: Range = [0, 1];
  #smallest = 0;
  #steps: Range[] = [];

  /** The visible range. */
  get range(): Range {
    return this.#steps.at(-1) ?? this.#full;
  }

  get zoomed(): boolean {
    return this.#steps.length > 0;
  }

  /**
   * Sets the length of the run. A selected range is kept; `smallest` is the shortest selectable
   * one.
   */
  whole(from: number, to: number, smallest: number): void {
    this.#full = [from, to > from ? to : from + 1];
    this.#smallest = smallest;
  }

  /** Shows a range. Returns false if it is empty or unchanged. */
  to(a: number, b: number): boolean {
    const from = Math.max(this.#full[0], Math.min(a, b));
    const to = Math.min(this.#full[1], Math.max(a, b));
    const [now, then] = this.range;
    if (!(to - from >= this.#smallest) || to <= from || (from === now && to === then)) return false;
    if (from === this.#full[0] && to === this.#full[1]) return this.reset();
    this.#steps.push([from, to]);
    return true;
  }

  /** Shows `factor` times as much around a time, which keeps its position on the screen. */
  by(factor: number, around: number): boolean {
    const [from, to] = this.range;
    const width = Math.max((to - from) * factor, this.#smallest);
    const left = (around - from) / (to - from);
    const start = Math.min(
      Math.max(around - left * width, this.#full[0]),
      Math.max(this.#full[0], this.#full[1] - width),
    );
    return this.to(start, start + width);
  }

  /** Returns to the previous range. */
  undo(): boolean {
    return this.#steps.pop() !== undefined;
  }

  /** Shows the whole run. */
  reset(): boolean {
    const was = this.zoomed;
    this.#steps = [];
    return was;
  }
}
