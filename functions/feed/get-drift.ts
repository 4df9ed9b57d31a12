import { driftBody } from "../../shared/domain/feed/drift/drift.ts";
import { driftRef } from "../../shared/feed/drift-refs.ts";
import { read } from "../../shared/http/operations.ts";
import { getDrift } from "../../shared/routes/drift.ts";

/** `GET /drift/{id}` */
export const handler = await read(getDrift, async ({ path, load }) => {
  const { drift } = await load({ drift: driftRef.drift(path.id) });
  return drift && driftBody(drift);
});
