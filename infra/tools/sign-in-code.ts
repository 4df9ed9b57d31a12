import { existsSync, readFileSync } from "node:fs";
import { helpAsked, readArguments, runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { totpCode } from "../local/pool/totp.ts";

const help = `Prints what an authenticator app would show now, for an operator that npm start has made.

npm run code -- <email>
  <email>            email address of the operator, such as owner@demo.example
  --help             this text`;

/** Announcement of the operators by `npm start`. */
interface Ready {
  readonly sign_in: { readonly operators: readonly { readonly email: string; readonly totp_secret: string }[] } | null;
}

const file = ".local/ready.json";

await runCommand(() => {
  if (helpAsked(help)) return;
  const { positionals } = readArguments({}, { positionals: 1 });
  const [email = ""] = positionals;
  const ready: Ready | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  const operators = ready?.sign_in?.operators ?? [];
  if (operators.length === 0) throw new UsageError("Run npm start first.");
  const found = operators.find((one) => one.email === email);
  if (found === undefined) {
    const known = operators.map((one) => one.email).join(", ");
    throw new UsageError(`There is no demo operator "${email}"; there are ${known}.`);
  }
  console.log(totpCode(found.totp_secret, Date.now()));
});
