import { escaped, type Field, type FormPage } from "./pages.ts";
import { isTotpCode, newTotpSecret } from "./totp.ts";
import type { PoolUser, PoolUsers } from "./users.ts";

/** How far a sign-in has come. */
type Progress =
  | { readonly step: "password"; readonly email?: string }
  | { readonly step: "choose"; readonly user: PoolUser; readonly until_ms: number }
  | { readonly step: "code"; readonly user: PoolUser; readonly until_ms: number }
  | { readonly step: "enroll"; readonly user: PoolUser; readonly until_ms: number; readonly secret: string };

/** Result of a posted form: another page, or the user who is signed in. */
export type FormOutcome = { readonly page: FormPage } | { readonly signedIn: PoolUser };

type Form = URLSearchParams;

const codeField: Field = { name: "code", label: "Code", type: "text", autocomplete: "one-time-code" };

/**
 * The steps of the login page, in the order of managed login: email and password, a new password for a temporary one,
 * and the second factor, which is set up at the first sign-in.
 */
export class Logins {
  private readonly users: PoolUsers;
  private readonly seconds: number;
  private readonly pending = new Map<string, Progress>();

  /** `seconds`: time between the password and the last step. */
  constructor(users: PoolUsers, seconds: number) {
    this.users = users;
    this.seconds = seconds;
  }

  /** The page that a sign-in is at. */
  page(id: string, error?: string): FormPage {
    const progress = this.progressOf(id);
    switch (progress.step) {
      case "password":
        return passwordPage(progress.email, error);
      case "choose":
        return choosePage(error);
      case "enroll":
        return enrollPage(progress.user, progress.secret, error);
      case "code":
        return { title: "Confirm your sign-in", hints: [codeHint], error, fields: [codeField], button: "Sign in" };
    }
  }

  /** Takes the form of the page that a sign-in is at. */
  post(id: string, form: Form): FormOutcome {
    const progress = this.progressOf(id);
    if (progress.step === "password") return this.checkPassword(id, form);
    if (progress.user.enabled === false || progress.until_ms < Date.now()) {
      this.pending.delete(id);
      return { page: this.page(id, "Your sign-in has expired. Begin again.") };
    }
    return progress.step === "choose" ? this.choose(id, progress.user, form) : this.checkCode(id, progress, form);
  }

  private progressOf(id: string): Progress {
    return this.pending.get(id) ?? { step: "password" };
  }

  private checkPassword(id: string, form: Form): FormOutcome {
    const email = form.get("email") ?? "";
    const user = this.users.authenticate(email, form.get("password") ?? "");
    if (user === undefined) {
      // The same for every reason, so that the page does not show which addresses are known.
      this.pending.set(id, { step: "password", email });
      return { page: this.page(id, "Incorrect email or password.") };
    }
    const until_ms = Date.now() + this.seconds * 1000;
    return user.status === "CONFIRMED"
      ? this.askCode(id, user, until_ms)
      : this.move(id, { step: "choose", user, until_ms });
  }

  private choose(id: string, user: PoolUser, form: Form): FormOutcome {
    const faults = this.users.choosePassword(user, form.get("new_password") ?? "");
    if (faults.length > 0) return { page: this.page(id, `The new password needs ${faults.join(", ")}.`) };
    return this.askCode(id, user, Date.now() + this.seconds * 1000);
  }

  private askCode(id: string, user: PoolUser, until_ms: number): FormOutcome {
    if (user.totp_secret !== null) return this.move(id, { step: "code", user, until_ms });
    return this.move(id, { step: "enroll", user, until_ms, secret: newTotpSecret() });
  }

  private checkCode(id: string, progress: Extract<Progress, { step: "code" | "enroll" }>, form: Form): FormOutcome {
    const { user } = progress;
    const secret = progress.step === "enroll" ? progress.secret : (user.totp_secret ?? "");
    const code = (form.get("code") ?? "").replace(/\s/g, "");
    if (!isTotpCode(secret, code, Date.now())) return { page: this.page(id, "The code is not valid.") };
    if (progress.step === "enroll") this.users.change(user, { totp_secret: secret });
    this.pending.delete(id);
    return { signedIn: user };
  }

  private move(id: string, progress: Progress): FormOutcome {
    this.pending.set(id, progress);
    return { page: this.page(id) };
  }
}

const codeHint = "Enter the code of six digits that your authenticator app shows.";

function passwordPage(email: string | undefined, error: string | undefined): FormPage {
  const fields: Field[] = [
    { name: "email", label: "Email", type: "email", autocomplete: "username", value: email ?? "" },
    { name: "password", label: "Password", type: "password", autocomplete: "current-password" },
  ];
  return { title: "Sign in", error, fields, button: "Continue" };
}

function choosePage(error: string | undefined): FormPage {
  const fields: Field[] = [
    { name: "new_password", label: "New password", type: "password", autocomplete: "new-password" },
  ];
  const hints = ["Your password was a temporary one. Choose your own."];
  return { title: "Choose a password", hints, error, fields, button: "Continue" };
}

function enrollPage({ email }: PoolUser, secret: string, error: string | undefined): FormPage {
  const label = encodeURIComponent(`Brokerage (local):${email}`);
  const uri = `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent("Brokerage (local)")}`;
  return {
    title: "Set up your authenticator app",
    hints: [
      "Add this key to your authenticator app, and enter the code that it shows.",
      `Key: <code>${escaped(secret)}</code>`,
      `Or open <a href="${escaped(uri)}">the key in an app of this device</a>.`,
    ],
    error,
    fields: [codeField],
    button: "Sign in",
  };
}
