/* Light or dark: as the system says until the user chooses; the choice is kept for this browser. */

export type Theme = "light" | "dark";

const KEY = "halley-theme";

function readChoice(): Theme | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null; /* storage may be forbidden; then the system decides */
  }
}

export function currentTheme(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

export function startTheme(changed: () => void): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    document.documentElement.dataset["theme"] = readChoice() ?? (dark.matches ? "dark" : "light");
    changed();
  };
  dark.addEventListener("change", apply);
  apply();
}

export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    /* kept for this page only */
  }
}
