import { randomUUID } from "node:crypto";
import type { StateFile } from "../state-file.ts";
import { faultsOf, hashed, isPassword, newPassword } from "./passwords.ts";
import type { PasswordPolicy } from "./settings.ts";

/** A user of the pool. */
export interface PoolUser {
  /** Its name in the pool too, as in every pool whose users sign in by their email. */
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  enabled: boolean;
  status: "FORCE_CHANGE_PASSWORD" | "CONFIRMED";
  /** Hashes, the current password first. */
  passwords: string[];
  /** When a temporary password ends. */
  temporary_until_ms: number | null;
  /** Base32; null until the second factor was set up. */
  totp_secret: string | null;
  readonly created_ms: number;
  modified_ms: number;
}

/** State that the pool keeps from run to run. */
export interface PoolState {
  readonly users: PoolUser[];
  /** Private key of the tokens, made with the first one. */
  key_pem?: string;
  /** Port of the last run: the issuer, which operators are bound to, names it. */
  port?: number;
}

/** The users of the pool, kept in its file. */
export class PoolUsers {
  private readonly file: StateFile<PoolState>;
  private readonly policy: PasswordPolicy;

  constructor(file: StateFile<PoolState>, policy: PasswordPolicy) {
    this.file = file;
    this.policy = policy;
  }

  /** A user by email, in any case, or by `sub`; undefined when there is none. */
  find(name: string): PoolUser | undefined {
    const wanted = name.toLowerCase();
    return this.file.value.users.find(({ email, sub }) => email.toLowerCase() === wanted || sub === wanted);
  }

  /** Makes a user who has to choose a password at the first sign-in; returns it with the temporary one. */
  invite(email: string, email_verified: boolean): { user: PoolUser; password: string } {
    const now = Date.now();
    const password = newPassword(this.policy.minimum_length);
    const user: PoolUser = {
      sub: randomUUID(),
      email,
      email_verified,
      enabled: true,
      status: "FORCE_CHANGE_PASSWORD",
      passwords: [hashed(password)],
      temporary_until_ms: now + this.policy.temporary_days * 86_400_000,
      totp_secret: null,
      created_ms: now,
      modified_ms: now,
    };
    this.file.value.users.push(user);
    this.file.save();
    return { user, password };
  }

  /** Gives an invited user another temporary password, as a repeated invitation does. */
  inviteAgain(user: PoolUser): string {
    const password = newPassword(this.policy.minimum_length);
    const until = Date.now() + this.policy.temporary_days * 86_400_000;
    this.change(user, { passwords: [hashed(password)], temporary_until_ms: until });
    return password;
  }

  /** The user with this password who may sign in; otherwise undefined. */
  authenticate(email: string, password: string): PoolUser | undefined {
    const user = this.find(email);
    const [current = hashed("")] = user?.passwords ?? [];
    const fits = isPassword(password, current);
    const ended = user?.temporary_until_ms !== null && (user?.temporary_until_ms ?? 0) < Date.now();
    return fits && user?.enabled === true && !ended ? user : undefined;
  }

  /** Sets a password that the user chose; returns what is wrong with it, and nothing when it was taken. */
  choosePassword(user: PoolUser, password: string): readonly string[] {
    const { history } = this.policy;
    const faults = faultsOf(password, this.policy, user.passwords.slice(0, Math.max(1, history)));
    if (faults.length > 0) return faults;
    const passwords = [hashed(password), ...user.passwords].slice(0, Math.max(1, history));
    this.change(user, { passwords, temporary_until_ms: null, status: "CONFIRMED" });
    return [];
  }

  /** Changes a user and keeps it. */
  change(user: PoolUser, changes: Partial<Omit<PoolUser, "sub" | "email" | "email_verified" | "created_ms">>): void {
    Object.assign(user, changes, { modified_ms: Date.now() });
    this.file.save();
  }

  remove(user: PoolUser): void {
    const { users } = this.file.value;
    users.splice(users.indexOf(user), 1);
    this.file.save();
  }
}
