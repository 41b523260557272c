// Colours of the style sheet for canvases, which cannot read custom properties, and the heat map's
// scale. Read again after every change of theme.

const STEPS_LIGHT = ["#e4eef8", "#b5d2ec", "#7bb0dc", "#3d88c4", "#12609f", "#082f57"];
const STEPS_DARK = ["#16324d", "#1d527f", "#2a78b5", "#5aa6dd", "#a5d3f4", "#f2f9ff"];

export class Colours {
  #probe: HTMLElement | null = null;
  #known = new Map<string, string>();

  /** Returns the colour of `--name` as `rgb(…)`. */
  get(name: string): string {
    const known = this.#known.get(name);
    if (known) return known;
    if (!this.#probe) {
      this.#probe = document.createElement("span");
      this.#probe.hidden = true;
      document.body.append(this.#probe);
    }
    this.#probe.style.color = `var(--${name})`;
    const colour = getComputedStyle(this.#probe).color;
    this.#known.set(name, colour);
    return colour;
  }

  /** Returns the colour with reduced opacity. */
  faded(name: string, opacity: number): string {
    const parts = this.get(name).match(/[\d.]+/g) ?? ["0", "0", "0"];
    return `rgba(${parts.slice(0, 3).join(", ")}, ${opacity})`;
  }

  /** The heat map's colour for a share between 0 and 1. */
  heat(share: number): string {
    const steps = this.heatSteps();
    const at = Math.max(0, Math.min(1, share)) * (steps.length - 1);
    const i = Math.min(Math.floor(at), steps.length - 2);
    return mix(steps[i] ?? "#000000", steps[i + 1] ?? "#000000", at - i);
  }

  heatSteps(): string[] {
    const background = this.get("paper").match(/\d+/g) ?? ["255"];
    return Number(background[0]) > 127 ? STEPS_LIGHT : STEPS_DARK;
  }

  /** Must be called after a change of theme. */
  forget(): void {
    this.#known.clear();
  }
}

function mix(a: string, b: string, share: number): string {
  const channel = (i: number) => {
    const [x, y] = [a, b].map((hex) => Number.parseInt(hex.slice(i, i + 2), 16)) as [number, number];
    return Math.round(x + (y - x) * share);
  };
  return `rgb(${channel(1)}, ${channel(3)}, ${channel(5)})`;
}
