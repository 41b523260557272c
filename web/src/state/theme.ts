// Light or dark theme: the system's by default, or the user's choice, stored if the browser allows
// it. Colours are in the style sheet.

const KEY = "loadline-theme";
export type Theme = "light" | "dark";

/** The active theme. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Restores the stored choice. */
export function recall(): void {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A page opened from a file may have no storage.
  }
}

/** Sets and stores the theme. */
export function choose(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage, the choice applies to this page only.
  }
}

/** Calls back when the system's theme changes. */
export function onSystemTheme(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
