import { existsSync, readFileSync } from "node:fs";
import { totpCode } from "../local/pool/totp.ts";

/** What `npm start` announces of its operators. */
interface Ready {
  readonly sign_in: { readonly operators: readonly { readonly email: string; readonly totp_secret: string }[] } | null;
}

const file = ".local/ready.json";
const [, , email = ""] = process.argv;
const ready: Ready | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
const operators = ready?.sign_in?.operators ?? [];
const found = operators.find((one) => one.email === email);

// What an authenticator app would show now, for the operators that the runner has made.
if (found !== undefined) {
  console.log(totpCode(found.totp_secret, Date.now()));
} else {
  const known = operators.map((one) => one.email).join(", ");
  console.error(known === "" ? "Run npm start first." : `There is no demo operator "${email}"; there are ${known}.`);
  process.exitCode = 1;
}
