import { stages } from "../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";
import { functionName } from "../stages.ts";
import { invokeFunction, localRunner } from "./operator.ts";

const help = `Erases what the audit and the reviews keep of a closed client, for good: destroys the key that
opens the audit, and takes the comments, notes and verifications out of the reviews.

npm run erase -- client --brokerage <id> --client <id> [options]
  --brokerage <id>   brokerage that the client belongs to, brk_...
  --client <id>      the client, cli_...; it must be closed
  --stage <stage>    stage that it is in, ${stages.join(" or ")} (default sandbox)
  --local            on the service that npm start runs here, instead of AWS
  --help             this text

Afterwards the audit log shows [erased] in the place of the client's personal values, nothing opens what its exports
hold of them, and the hash chain still verifies; a review tells who decided what, and when. The command can be repeated.
What it leaves: the profile of the client, and the transactions and the ledger of its accounts, which the law obliges a
brokerage to keep for years; events until they expire after 90 days; backups of the main table for 35 days.
On AWS it invokes the stage's provision function with your credentials, which must allow lambda:InvokeFunction.`;

/** The request that the arguments ask for; throws a UsageError that names the one that is wrong. */
function requestOf(brokerage: string | undefined, client: string | undefined) {
  const checked = ProvisionRequest.safeParse({ action: "erase_client", tenant_id: brokerage, client_id: client });
  if (checked.success) return checked.data;
  const isBrokerage = checked.error.issues.some(({ path }) => path[0] === "tenant_id");
  const [option, form] = isBrokerage ? ["brokerage", "brk_"] : ["client", "cli_"];
  throw new UsageError(`--${option} must be the id of a ${option}, ${form} and 26 characters.`);
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      brokerage: { type: "string" },
      client: { type: "string" },
      stage: { type: "string", default: "sandbox" },
      local: { type: "boolean", default: false },
    },
    { positionals: 1 },
  );
  const [kind] = positionals;
  if (kind !== "client") {
    throw new UsageError(`The first argument must be client${kind === undefined ? "" : `, not "${kind}"`}.`);
  }
  const request = requestOf(values.brokerage, values.client);
  const stage = oneOf("stage", values.stage, stages);
  const config = values.local ? localRunner().config : {};
  const made = await invokeFunction(functionName(stage, "provision"), request, config);
  console.log(JSON.stringify(made, null, 2));
});
