import type { Schemas } from "../../api/types.ts";

/** The name of a person or a company; the address where there is none. */
export function nameOf(client: Schemas["BrokerageClient"]): string {
  const { first_name, middle_name, last_name, company_name, email } = client;
  return company_name ?? ([first_name, middle_name, last_name].filter(Boolean).join(" ") || email);
}
