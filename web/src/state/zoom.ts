// The stretch of time that every chart over time shows, with the way back. Pure state in seconds; who draws is told elsewhere.

export type Range = readonly [number, number];

export class Zoom {
  #full: Range = [0, 1];
  #smallest = 0;
  #steps: Range[] = [];

  /** What is shown now. */
  get range(): Range {
    return this.#steps.at(-1) ?? this.#full;
  }

  get zoomed(): boolean {
    return this.#steps.length > 0;
  }

  /** The whole run has this length now. A stretch that was chosen stays; `smallest` is the shortest that may be chosen. */
  whole(from: number, to: number, smallest: number): void {
    this.#full = [from, to > from ? to : from + 1];
    this.#smallest = smallest;
  }

  /** Shows a stretch; false when there is nothing to show or nothing changes. */
  to(a: number, b: number): boolean {
    const from = Math.max(this.#full[0], Math.min(a, b));
    const to = Math.min(this.#full[1], Math.max(a, b));
    const [now, then] = this.range;
    if (!(to - from >= this.#smallest) || to <= from || (from === now && to === then)) return false;
    if (from === this.#full[0] && to === this.#full[1]) return this.reset();
    this.#steps.push([from, to]);
    return true;
  }

  /** Shows `factor` times as much around a moment, which keeps its place on the screen. */
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

  /** The stretch before this one. */
  undo(): boolean {
    return this.#steps.pop() !== undefined;
  }

  /** The whole run. */
  reset(): boolean {
    const was = this.zoomed;
    this.#steps = [];
    return was;
  }
}
