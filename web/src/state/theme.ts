// Light or dark: as the system says, until somebody says otherwise; remembered where the browser allows it. Colours live in
// the style sheet.

const KEY = "loadline-theme";
export type Theme = "light" | "dark";

/** The theme in force. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Takes up what was chosen last time. */
export function recall(): void {
  try {
    const chosen = localStorage.getItem(KEY);
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A page opened from a file may have no storage.
  }
}

/** Chooses a theme from now on. */
export function choose(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Then it holds for this page alone.
  }
}

/** Calls back when the system changes its mind. */
export function onSystemTheme(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
