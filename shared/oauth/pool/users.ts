import {
  AdminCreateUserCommand,
  AdminDeleteUserCommand,
  AdminDisableUserCommand,
  AdminEnableUserCommand,
  AdminGetUserCommand,
  AdminUserGlobalSignOutCommand,
  CognitoIdentityProviderClient,
} from "@aws-sdk/client-cognito-identity-provider";
import { limits } from "../../limits.ts";
import { bounded } from "../../runtime/budget.ts";
import { env } from "../../runtime/env.ts";
import { unless } from "../unless.ts";

/** A user of the operators' pool. */
export interface PoolUser {
  /** The user's name in the pool and `sub` of its tokens: pools whose users sign in by e-mail make it. */
  readonly subject: string;
  readonly enabled: boolean;
}

/** A user who was made or found. */
interface EnsuredUser extends PoolUser {
  readonly isNew: boolean;
}

const pool = bounded(
  new CognitoIdentityProviderClient({ maxAttempts: limits.calls.attempts, requestHandler: limits.calls.slow_handler }),
);

/** The user with an e-mail address, or with this name in the pool; undefined when there is none. */
export async function findPoolUser(name: string): Promise<PoolUser | undefined> {
  const found = await unless("UserNotFoundException", () => pool.send(new AdminGetUserCommand(poolUser(name))));
  return found && { subject: String(found.Username), enabled: found.Enabled === true };
}

/** Makes the user with an e-mail address, to whom Cognito sends a temporary password, or finds the one who is there. */
export async function ensurePoolUser(email: string): Promise<EnsuredUser> {
  const attributes = [
    { Name: "email", Value: email },
    // The invitation reaches the person by it, so that they have it is proven by their first sign-in.
    { Name: "email_verified", Value: "true" },
  ];
  const request = { ...poolUser(email), UserAttributes: attributes };
  const made = await unless("UsernameExistsException", () => pool.send(new AdminCreateUserCommand(request)));
  const found = made === undefined ? await findPoolUser(email) : undefined;
  const subject = made?.User?.Username ?? found?.subject;
  if (subject === undefined) throw new Error("The user of the pool is neither new nor there.");
  return { subject, enabled: found?.enabled ?? true, isNew: made !== undefined };
}

/**
 * Has Cognito send another temporary password, which replaces the one before. A user who has chosen a password, as an
 * operator of another brokerage, signs in with that one.
 */
export async function resendInvitation(email: string): Promise<void> {
  const request = new AdminCreateUserCommand({ ...poolUser(email), MessageAction: "RESEND" });
  await unless("UnsupportedUserStateException", () => pool.send(request));
}

/** Lets a user sign in again who was shut out. */
export async function enablePoolUser({ subject }: PoolUser): Promise<void> {
  await unless("UserNotFoundException", () => pool.send(new AdminEnableUserCommand(poolUser(subject))));
}

/** Ends every session of a user, and lets them begin none. */
export async function disablePoolUser({ subject }: PoolUser): Promise<void> {
  await unless("UserNotFoundException", () => pool.send(new AdminDisableUserCommand(poolUser(subject))));
  await unless("UserNotFoundException", () => pool.send(new AdminUserGlobalSignOutCommand(poolUser(subject))));
}

/** Removes a user with their password and second factor. */
export async function deletePoolUser({ subject }: PoolUser): Promise<void> {
  await unless("UserNotFoundException", () => pool.send(new AdminDeleteUserCommand(poolUser(subject))));
}

function poolUser(name: string) {
  return { UserPoolId: env.userPoolId, Username: name };
}
