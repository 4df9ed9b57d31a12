import { createStore } from "../api/store.ts";

/** Light or dark. */
export type ColorScheme = "light" | "dark";

const key = "dashboard.theme";

function preferred(): ColorScheme {
  const kept = localStorage.getItem(key);
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The theme that is shown. */
export const colorScheme = createStore<ColorScheme>(preferred());

function apply(): void {
  document.documentElement.setAttribute("data-mantine-color-scheme", colorScheme.get());
}

/** Shows the other theme, and remembers it on this device. */
export function switchColorScheme(): void {
  colorScheme.set(colorScheme.get() === "dark" ? "light" : "dark");
  localStorage.setItem(key, colorScheme.get());
  apply();
}

apply();
