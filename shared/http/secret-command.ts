import { peopleOf } from "../domain/access/person.ts";
import type { Actor } from "../domain/kernel/decision.ts";
import type { Decision } from "../domain/records/change.ts";
import type { ShippedRoute } from "../routes/route.ts";
import { sha256 } from "../runtime/digest.ts";
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
  return command(row, decide, show, { sealingOf });
}

/**
 * The people behind an application change: each one who is shown its secret joins them. One who joined after an answer
 * showed another secret must not read it from the stored answer, since nothing would record that they know it. So the
 * fingerprint covers these people.
 */
function sealingOf(key: string, scope: IdempotencyScope, actor: Actor): IdempotencyScope {
  const { application_id, key_hash } = scope;
  const fingerprint = sha256([scope.fingerprint, ...peopleOf(actor).toSorted()].join("\n"));
  const aad = `${application_id}|${key_hash}|${fingerprint}`;
  const sealing: Sealing = {
    seal: (text) => seal(purpose, text, aad, key),
    open: (sealed) => open(purpose, sealed, aad, key),
  };
  return { ...scope, fingerprint, sealing };
}
