import { type Role, scopesOf } from "../../roles.ts";
import type { Scope } from "../../schema/scope.ts";
import type { Context, Refusal } from "../kernel/decision.ts";
import type { Application } from "../records/application.ts";
import type { Operator } from "../records/operator.ts";
import { secretLives } from "./application.ts";
import { sessionLives } from "./session.ts";

/** A caller whom the authorizer let in, up to a minute ago. */
export interface AdmittedCaller {
  readonly scopes: readonly Scope[];
  /** Role of an operator. */
  readonly role?: Role;
  /** Sign-in behind an operator's token. */
  readonly session?: string;
  /** Number of the client secret behind an application's token. */
  readonly secret_number?: number;
}

/** A caller whose access has ended, or who must get a token for what they may do now. */
function ended(detail: string): Refusal {
  return { code: "unauthenticated", detail };
}

/**
 * Why an application may not command as it was let in: it was revoked, the secret of the token has ended, or it has
 * fewer scopes. Undefined where nothing has ended.
 * @param scope that the endpoint requires
 */
export function endedApplication(
  caller: AdmittedCaller,
  application: Application | undefined,
  scope: Scope | null,
  nowMs: number,
): Refusal | undefined {
  if (application?.status !== "active") return ended("The application was revoked.");
  if (!secretLives(application, caller.secret_number ?? 0, nowMs)) {
    return ended("The secret that the token was issued for has ended: get a token with the current one.");
  }
  return lostScope(caller, application.scopes, scope, "The application");
}

/** The same for an operator: they were suspended or removed, have signed out, or have another role. */
export function endedOperator(
  caller: AdmittedCaller,
  operator: Operator | undefined,
  scope: Scope | null,
  environment: Context["environment"],
): Refusal | undefined {
  if (operator?.status !== "active") return ended("The operator was suspended or removed.");
  if (caller.session !== undefined && !sessionLives(operator, caller.session)) {
    return ended("The sign-in behind the token has ended.");
  }
  const lost = lostScope(caller, scopesOf(operator.role, environment), scope, `The role ${operator.role}`);
  if (lost !== undefined || operator.role === caller.role) return lost;
  return ended("The operator has another role: get a new token.");
}

function lostScope({ scopes }: AdmittedCaller, held: readonly Scope[], needed: Scope | null, holder: string) {
  if (needed !== null && !held.includes(needed)) {
    const detail = `${holder} no longer holds the scope ${needed}.`;
    return { code: "insufficient_scope", detail, extra: { scope: needed } } as const;
  }
  const lost = scopes.find((scope) => !held.includes(scope));
  return lost === undefined ? undefined : ended(`${holder} no longer holds the scope ${lost}: get a new token.`);
}
