import type { Decision } from "../domain/decision.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { open, seal } from "../runtime/service-key.ts";
import type { IdempotencyScope, Sealing } from "../table/store.ts";
import type { Handler } from "./endpoint.ts";
import type { CommandRequest } from "./exchange.ts";
import { command } from "./operations.ts";

const purpose = "stored-reply";

/**
 * A command whose answer shows a secret once. Its record under an Idempotency-Key is encrypted with a key derived from
 * the service key and the raw Idempotency-Key. Only the hash of the latter is stored, so a reader of the table cannot
 * decrypt the record.
 */
export function secretCommand<R extends ShippedRoute & { readonly secret: true }, T>(
  row: R,
  decide: (request: CommandRequest<R>) => Promise<Decision<T>>,
  show: (result: T) => object,
): Promise<Handler> {
  return command(row, decide, show, sealingOf);
}

function sealingOf(key: string, { application_id, key_hash, fingerprint }: IdempotencyScope): Sealing {
  const aad = `${application_id}|${key_hash}|${fingerprint}`;
  return { seal: (text) => seal(purpose, text, aad, key), open: (sealed) => open(purpose, sealed, aad, key) };
}
