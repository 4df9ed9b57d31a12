import { driftBody } from "../../shared/domain/feed/drift/drift.ts";
import { decideResolution } from "../../shared/feed/drifts.ts";
import { endAdoption } from "../../shared/feed/end-adoption.ts";
import { command } from "../../shared/http/operations.ts";
import { resolveDrift } from "../../shared/routes/drift.ts";

/** `POST /drift/{id}/resolve` */
export const handler = await command(
  resolveDrift,
  ({ path, body, load, context }) => decideResolution(load, context, path.id, body),
  driftBody,
  {
    afterCommit: async (drift, remainingMs) => {
      const adopted = drift.kind === "account_unknown" && drift.resolution?.action === "adopt_platform";
      if (adopted) await endAdoption(drift, remainingMs);
    },
  },
);
