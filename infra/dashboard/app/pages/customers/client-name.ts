import type { Schemas } from "../../api/types.ts";

/** The name of a person or a company; the address where there is none. */
export function nameOf({ name, email }: Pick<Schemas["BrokerageClient"], "name" | "email">): string {
  return name || email;
}
