import { AwsError } from "../aws-error.ts";
import { isRecord } from "../template/intrinsics.ts";
import type { PoolSettings } from "./settings.ts";
import type { PoolUser, PoolUsers } from "./users.ts";

type Body = Readonly<Record<string, unknown>>;

/** Operations that this runner knows, with the members of their requests. */
const members = {
  AdminCreateUser: ["UserPoolId", "Username", "UserAttributes", "DesiredDeliveryMediums", "MessageAction"],
  AdminGetUser: ["UserPoolId", "Username"],
  AdminDisableUser: ["UserPoolId", "Username"],
  AdminEnableUser: ["UserPoolId", "Username"],
  AdminDeleteUser: ["UserPoolId", "Username"],
  AdminUserGlobalSignOut: ["UserPoolId", "Username"],
} as const;

type Operation = keyof typeof members;

/** Effects of a change of a user beyond the user. */
export interface Consequences {
  /** Ends every session and refresh token of a user. */
  readonly signOut: (sub: string) => void;
  /** Takes the place of the mail with the temporary password. */
  readonly mail: (email: string, password: string) => void;
}

/** The part of the pool's control plane that functions use. */
export class PoolAdmin {
  private readonly settings: PoolSettings;
  private readonly users: PoolUsers;
  private readonly consequences: Consequences;

  constructor(settings: PoolSettings, users: PoolUsers, consequences: Consequences) {
    this.settings = settings;
    this.users = users;
    this.consequences = consequences;
  }

  /** ARN of a pool by its id, for the check of the call. Throws ResourceNotFoundException. */
  arnOf(poolId: unknown): string {
    if (poolId === this.settings.id) return this.settings.arn;
    throw new AwsError(400, "ResourceNotFoundException", `User pool ${String(poolId)} does not exist.`);
  }

  /** Does one operation and returns the body of the answer. Throws AwsErrors. */
  call(name: string, body: Body): Record<string, unknown> {
    const operation = Object.keys(members).find((one): one is Operation => one === name);
    const known: readonly string[] = operation === undefined ? [] : members[operation];
    const other = Object.keys(body).find((member) => !known.includes(member));
    if (operation === undefined || other !== undefined) {
      const what = other === undefined || operation === undefined ? "" : ` with ${other}`;
      throw new AwsError(501, "NotImplemented", `The local runner does not know cognito-idp:${name}${what}.`);
    }
    if (operation === "AdminCreateUser") return { User: userBody(this.create(body), "Attributes") };
    const user = this.find(body);
    switch (operation) {
      case "AdminGetUser":
        return userBody(user, "UserAttributes");
      case "AdminEnableUser":
        this.users.change(user, { enabled: true });
        return {};
      case "AdminDisableUser":
        this.users.change(user, { enabled: false });
        break;
      case "AdminDeleteUser":
        this.users.remove(user);
    }
    this.consequences.signOut(user.sub);
    return {};
  }

  private create(body: Body): PoolUser {
    const email = String(body["Username"] ?? "");
    const named = attribute(body["UserAttributes"], "email") ?? email;
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || named !== email) {
      throw new AwsError(400, "InvalidParameterException", "Username should be an email.");
    }
    const found = this.users.find(email);
    const resent = body["MessageAction"] === "RESEND";
    if (resent && found === undefined) throw notFound();
    if (found !== undefined && (!resent || found.status === "CONFIRMED")) {
      throw resent
        ? new AwsError(
            400,
            "UnsupportedUserStateException",
            "Resend not possible. The status is not FORCE_CHANGE_PASSWORD.",
          )
        : new AwsError(400, "UsernameExistsException", "User account already exists");
    }
    const verified = attribute(body["UserAttributes"], "email_verified") === "true";
    const { user, password } =
      found === undefined
        ? this.users.invite(email, verified)
        : { user: found, password: this.users.inviteAgain(found) };
    if (body["MessageAction"] !== "SUPPRESS") this.consequences.mail(user.email, password);
    return user;
  }

  private find({ Username: name }: Body): PoolUser {
    const user = this.users.find(String(name ?? ""));
    if (user === undefined) throw notFound();
    return user;
  }
}

function notFound(): AwsError {
  return new AwsError(400, "UserNotFoundException", "User does not exist.");
}

function attribute(attributes: unknown, name: string): string | undefined {
  const entries = (Array.isArray(attributes) ? attributes : []).filter((one: unknown) => isRecord(one));
  const found = entries.find((one) => one["Name"] === name);
  return found === undefined ? undefined : String(found["Value"]);
}

function userBody(user: PoolUser, attributes: "Attributes" | "UserAttributes"): Record<string, unknown> {
  const { sub, email, email_verified, enabled, status, totp_secret, created_ms, modified_ms } = user;
  const factor = { PreferredMfaSetting: "SOFTWARE_TOKEN_MFA", UserMFASettingList: ["SOFTWARE_TOKEN_MFA"] };
  return {
    Username: sub,
    [attributes]: [
      { Name: "email", Value: email },
      { Name: "email_verified", Value: String(email_verified) },
      { Name: "sub", Value: sub },
    ],
    UserCreateDate: created_ms / 1000,
    UserLastModifiedDate: modified_ms / 1000,
    Enabled: enabled,
    UserStatus: status,
    ...(attributes === "UserAttributes" && totp_secret !== null && factor),
  };
}
