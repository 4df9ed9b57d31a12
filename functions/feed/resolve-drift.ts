import { driftBody } from "../../shared/domain/drift/drift.ts";
import { decideResolution } from "../../shared/feed/drifts.ts";
import { command } from "../../shared/http/operations.ts";
import { resolveDrift } from "../../shared/routes/drift.ts";

/** `POST /drift/{id}/resolve` */
export const handler = await command(
  resolveDrift,
  ({ path, body, load, context }) => decideResolution(load, context, path.id, body),
  driftBody,
);
