import type { Schemas } from "../../api/types.ts";
import type { Column } from "../../parts/table.tsx";
import { Id, Maybe } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

/** An item of a list that belongs to a client, or to none. */
interface Owned {
  readonly client_id?: string;
  readonly client?: Pick<Schemas["BrokerageClient"], "name"> | null | undefined;
}

/** Name of the client of an item, for those who may read clients. */
export const clientColumn: Column<Owned> = {
  head: "Client",
  width: 180,
  wide: true,
  cell: ({ client, client_id }) => client?.name || (client_id ? <Id id={client_id} /> : <Maybe value={null} />),
};

/** Query of a list whose items have their clients. */
export function useClientNames(): { readonly query: Readonly<Record<string, string>> } {
  const may = useMay();
  return { query: may("clients:read") ? { expand: "client" } : {} };
}
