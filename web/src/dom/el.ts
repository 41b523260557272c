// Creates elements. Text always becomes a text node, so a label with markup stays text.

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/**
 * Creates an element with attributes and children. `onclick` and the like are listeners; false and
 * null are omitted.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Creates an SVG element. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Replaces the children of `parent`. The focus returns to the element with the same `data-key`. */
export function fill(parent: Element, ...children: Child[]): void {
  const active = document.activeElement;
  const key = active && parent.contains(active) ? active.getAttribute("data-key") : null;
  parent.replaceChildren();
  append(parent, children);
  if (key === null) return;
  for (const candidate of parent.querySelectorAll<HTMLElement>("[data-key]")) {
    if (candidate.dataset.key === key) {
      candidate.focus({ preventScroll: true });
      return;
    }
  }
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
}
