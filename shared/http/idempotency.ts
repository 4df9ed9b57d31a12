import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Actor } from "../domain/kernel/decision.ts";
import { limits } from "../limits.ts";
import { sha256 } from "../runtime/digest.ts";
import type { IdempotencyScope } from "../table/store.ts";
import { headerOf, headerValues } from "./body.ts";
import { repeatedHeader } from "./headers.ts";
import { HttpProblem } from "./problem.ts";

/**
 * The scope of an endpoint that shows a secret: the people behind the caller are part of its fingerprint, and its
 * stored answer is encrypted, by a key that is derived from the caller's Idempotency-Key.
 */
export type SealingOf = (key: string, scope: IdempotencyScope, actor: Actor) => IdempotencyScope;

/**
 * The idempotency scope of a request. The key may be quoted
 * (draft-ietf-httpapi-idempotency-key) or bare; only its hash is stored. The fingerprint covers method, path and the
 * bytes of the body: any difference makes it another request. With `sealingOf`, the fingerprint covers the people
 * behind the caller too, and the stored answer is encrypted. Without the header there is none, or where it is
 * `required` a refusal.
 * @throws HttpProblem `idempotency_key_invalid`
 */
export function idempotencyScope(
  event: APIGatewayProxyEvent,
  actor: Actor,
  bodyText: string,
  { sealingOf, required = false }: { readonly sealingOf?: SealingOf | undefined; readonly required?: boolean } = {},
): IdempotencyScope | undefined {
  const given = headerOf(event, "Idempotency-Key");
  if (given === undefined) {
    if (!required) return undefined;
    throw new HttpProblem("idempotency_key_invalid", "The request needs an Idempotency-Key.", {
      errors: [{ header: "Idempotency-Key", code: "required", detail: "is required" }],
    });
  }
  // With two keys, a retry that sends them in another order would be another request.
  if (headerValues(event, "Idempotency-Key").length > 1) {
    throw repeatedHeader("idempotency_key_invalid", "Idempotency-Key");
  }
  const key = /^".*"$/.test(given) ? given.slice(1, -1) : given;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > limits.idempotency.max_key_characters) {
    const detail = `must be 1 to ${limits.idempotency.max_key_characters} visible ASCII characters`;
    throw new HttpProblem("idempotency_key_invalid", `The Idempotency-Key ${detail}.`, {
      errors: [{ header: "Idempotency-Key", code: "invalid_format", detail }],
    });
  }
  const scope: IdempotencyScope = {
    application_id: actor.id,
    key_hash: sha256(key),
    fingerprint: sha256(`${event.httpMethod}\n${event.path}\n${bodyText}`),
  };
  return sealingOf === undefined ? scope : sealingOf(key, scope, actor);
}
