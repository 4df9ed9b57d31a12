/**
 * The brokerage that a person has chosen last, kept when the tab is closed: its identifier and no secret. Each person
 * of a browser has their own.
 */
export interface Choice {
  readonly kept: string | null;
  keep(brokerage: string): void;
  forget(): void;
}

/** The last choice of the person whom an id token names. */
export function choiceOf(idToken: string): Choice {
  const [, claims = ""] = idToken.split(".");
  const { sub } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as { readonly sub: string };
  const key = `dashboard.brokerage.${sub}`;
  return {
    kept: localStorage.getItem(key),
    keep: (brokerage) => localStorage.setItem(key, brokerage),
    forget: () => localStorage.removeItem(key),
  };
}
