import type { ApplicationDraws, DrawnSecret } from "../domain/access/application.ts";
import type { Application } from "../domain/records/application.ts";
import { sha256 } from "../runtime/digest.ts";
import { env } from "../runtime/env.ts";
import { newSecretWord } from "../runtime/ids.ts";

/** A new client secret with 256 random bits, and its hash, which alone is kept. */
export function drawSecret(): DrawnSecret {
  const secret = `sec_${env.stage === "production" ? "live" : "sandbox"}_${newSecretWord(43)}`;
  return { secret, sha256: sha256(secret) };
}

/** Random values of a new application. */
export function drawApplication(): DrawnSecret & Pick<ApplicationDraws, "client_id" | "api_key_seed"> {
  return { ...drawSecret(), client_id: `app_${newSecretWord(24)}`, api_key_seed: newSecretWord(43) };
}

/** Random value of the API key of the operators of a brokerage. */
export function drawOperatorKey(): { readonly api_key_seed: string } {
  return { api_key_seed: newSecretWord(43) };
}

/**
 * Value of the API key that the gateway counts an application by, or the operators of a brokerage. It is no credential:
 * the gateway takes it from the authorizer alone. Still it is made from its seed each time, so that the table holds no
 * key that works anywhere.
 */
export function gatewayKeyOf({ id, api_key_seed }: Pick<Application, "id" | "api_key_seed">): string {
  return sha256(`gateway key ${id} ${api_key_seed}`);
}
