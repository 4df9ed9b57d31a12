import type { Schemas } from "../../api/types.ts";
import type { Column } from "../../parts/table.tsx";
import { Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

/** An item of a list that belongs to a client. */
interface Owned {
  readonly client_id: string;
  readonly client?: Pick<Schemas["BrokerageClient"], "name"> | null | undefined;
}

/** Name of the client of an item, for those who may read clients. */
export const clientColumn: Column<Owned> = {
  head: "Client",
  width: 180,
  wide: true,
  cell: ({ client, client_id }) => client?.name || <Id id={client_id} />,
};

/** The name of the client of an item in front of its own identifier, where there is a client that may be read. */
export function Named({ client, id }: { readonly client: Owned["client"]; readonly id: string }) {
  if (!client?.name) return id;
  return (
    <>
      {client.name} <span className="dim">{id}</span>
    </>
  );
}

/** Query of a list whose items have their clients. */
export function useClientNames(): { readonly query: Readonly<Record<string, string>> } {
  const may = useMay();
  return { query: may("clients:read") ? { expand: "client" } : {} };
}
