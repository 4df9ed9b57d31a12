import { useResource } from "../../api/data.ts";
import { Go, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";
import { nameOf } from "./client-name.ts";

/** A client by name, for those who may read clients. */
export function ClientName({ id }: { readonly id: string }) {
  const may = useMay();
  const { data } = useResource("/clients/{id}", { path: { id } }, { enabled: may("clients:read") });
  if (data === undefined) return may("clients:read") ? null : <Id id={id} />;
  return <Go to={`/clients/${id}`}>{nameOf(data)}</Go>;
}
