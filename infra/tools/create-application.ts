import { stages } from "../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";
import { functionName } from "../stages.ts";
import { invokeFunction, localRunner } from "./operator.ts";

const help = `Makes an API application of a brokerage: the first one cannot come from a token.

npm run application -- create --name <name> [options]
  --name <name>      name of the application
  --brokerage <id>   brokerage that it belongs to, brk_..., or new, which makes one (default new)
  --stage <stage>    stage to make it in, ${stages.join(" or ")} (default sandbox)
  --owner <email>    email address of the first owner of a new brokerage, who signs in to the user pool
  --scopes <list>    scopes with commas between them; without it all of them
  --local            on the service that npm start runs here, instead of AWS
  --help             this text

On AWS it invokes the stage's provision function with your credentials, which must allow lambda:InvokeFunction.
The client secret is shown once and cannot be read again.`;

interface Given {
  readonly name?: string | undefined;
  readonly brokerage?: string | undefined;
  readonly scopes?: string | undefined;
  readonly owner?: string | undefined;
}

/** The request that the arguments ask for; throws a UsageError that names the one that is wrong. */
function requestOf({ name, brokerage, scopes, owner }: Given) {
  if (name === undefined) throw new UsageError("The option --name is missing: an application needs a name.");
  const request = {
    action: "create_application",
    tenant_id: brokerage === undefined || brokerage === "new" ? null : brokerage,
    name,
    scopes: scopes === undefined ? null : scopes.split(",").map((scope) => scope.trim()),
    ...(owner === undefined ? {} : { owner }),
  };
  if (owner !== undefined && request.tenant_id !== null) {
    throw new UsageError("--owner is for a new brokerage: invite operators of another one by POST /operators.");
  }
  const checked = ProvisionRequest.safeParse(request);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const [member, place] = issue?.path ?? [];
  if (member === "tenant_id")
    throw new UsageError("--brokerage must be new or the id of a brokerage, brk_ and 26 characters.");
  if (member === "name") {
    throw new UsageError("--name must have 1 to 100 characters, without control characters, and not be blank.");
  }
  if (member === "owner") throw new UsageError("--owner must be an email address.");
  const known = issue?.code === "invalid_value" ? `; the scopes are ${issue.values.map(String).join(", ")}` : "";
  throw new UsageError(`--scopes holds "${request.scopes?.[Number(place)]}", which is not a scope${known}.`);
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      name: { type: "string" },
      brokerage: { type: "string" },
      stage: { type: "string", default: "sandbox" },
      scopes: { type: "string" },
      owner: { type: "string" },
      local: { type: "boolean", default: false },
    },
    { positionals: 1 },
  );
  const [command] = positionals;
  if (command !== "create") {
    throw new UsageError(`The first argument must be create${command === undefined ? "" : `, not "${command}"`}.`);
  }
  const stage = oneOf("stage", values.stage, stages);
  const request = requestOf(values);
  const name = functionName(stage, "provision");
  const made = await invokeFunction(name, request, values.local ? localRunner().config : {});
  console.log(JSON.stringify(made, null, 2));
});
