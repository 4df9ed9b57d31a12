import { createContext, useContext } from "react";
import type { Schemas } from "../api/types.ts";

/** The signed-in person, as the API says. */
export type Caller = Schemas["Me"];

/** The person whose session this is. */
export const CallerContext = createContext<Caller | undefined>(undefined);

/** The person whose session this is; a page is shown to a known person only. */
export function useCaller(): Caller {
  const caller = useContext(CallerContext);
  if (caller === undefined) throw new Error("There is no caller outside of the shell.");
  return caller;
}

/** Whether the person holds a scope. */
export function useMay(): (scope: string) => boolean {
  const { scopes } = useCaller();
  return (scope) => (scopes as readonly string[]).includes(scope);
}
