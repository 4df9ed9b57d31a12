import type { Schemas } from "../api/types.ts";
import { inWords, shortId } from "../parts/format.ts";

/** Actor: an operator or an application by name, or the service itself. */
export function ActorName({ actor }: { readonly actor: Schemas["Actor"] | null }) {
  if (actor === null) return <span className="faint">–</span>;
  const { type, id, name } = actor;
  return (
    <span title={`${type} ${id}`}>{name ?? (type === "system" ? "Service" : `${inWords(type)} ${shortId(id)}`)}</span>
  );
}
