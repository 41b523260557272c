// Draws visible charts first: charts in view immediately, others when the browser is idle, and all
// before printing.

export interface Drawable {
  readonly el: HTMLElement;
  draw(): void;
}

export class Lazy {
  #waiting = new Map<Element, Drawable>();
  #near = new Set<Element>();
  #known = new WeakSet<Element>();
  #idle = false;
  #observer = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "300px" });

  /** Requests a drawing of `chart`. */
  request(chart: Drawable): void {
    this.#waiting.set(chart.el, chart);
    if (!this.#known.has(chart.el)) {
      this.#known.add(chart.el);
      this.#observer.observe(chart.el);
    }
    this.#later();
  }

  /** Draws everything immediately. */
  all(): void {
    for (const element of [...this.#waiting.keys()]) this.#draw(element);
  }

  #seen(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.#near.add(target);
      else this.#near.delete(target);
      if (isIntersecting) this.#draw(target);
    }
  }

  /** Draws one chart per idle period, nearest first, to keep the page responsive. */
  #later(): void {
    if (this.#idle || this.#waiting.size === 0) return;
    this.#idle = true;
    const wait = window.requestIdleCallback ?? ((step: () => void) => window.setTimeout(step, 30));
    wait(() => {
      this.#idle = false;
      const next = [...this.#waiting.keys()];
      const chosen = next.find((element) => this.#near.has(element)) ?? next[0];
      if (chosen) this.#draw(chosen);
      this.#later();
    });
  }

  #draw(element: Element): void {
    const chart = this.#waiting.get(element);
    this.#waiting.delete(element);
    chart?.draw();
  }
}
