import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { InvokeCommand, LambdaClient, type LambdaClientConfig } from "@aws-sdk/client-lambda";
import { stages } from "../../shared/routes/route.ts";
import { helpAsked, readArguments, runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";
import { isRecord } from "../local/template/intrinsics.ts";
import { functionName } from "../stages.ts";

const help = `Makes an API application of a tenant: the first one cannot come from a token.

npm run application -- create --name <name> [options]
  --name <name>      name of the application
  --tenant <id>      tenant that it belongs to, brk_..., or new, which makes a tenant (default new)
  --stage <stage>    stage to make it in, ${stages.join(" or ")} (default sandbox)
  --owner <email>    email address of the first owner of a new tenant, who signs in to the user pool
  --scopes <list>    scopes with commas between them; without it all of them
  --local            on the service that npm start runs here, instead of AWS
  --help             this text

On AWS it invokes the stage's provision function with your credentials, which must allow lambda:InvokeFunction.
The client secret is shown once and cannot be read again.`;

const noService = "No service runs here: npm start starts one.";

interface Given {
  readonly name?: string | undefined;
  readonly tenant?: string | undefined;
  readonly scopes?: string | undefined;
  readonly owner?: string | undefined;
}

/** The request that the arguments ask for; throws a UsageError that names the one that is wrong. */
function requestOf({ name, tenant, scopes, owner }: Given) {
  if (name === undefined) throw new UsageError("The option --name is missing: an application needs a name.");
  const request = {
    action: "create_application",
    tenant_id: tenant === undefined || tenant === "new" ? null : tenant,
    name,
    scopes: scopes === undefined ? null : scopes.split(",").map((scope) => scope.trim()),
    ...(owner === undefined ? {} : { owner }),
  };
  if (owner !== undefined && request.tenant_id !== null) {
    throw new UsageError("--owner is for a new tenant: invite operators of another one by POST /operators.");
  }
  const checked = ProvisionRequest.safeParse(request);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const [member, place] = issue?.path ?? [];
  if (member === "tenant_id")
    throw new UsageError("--tenant must be new or the id of a tenant, brk_ and 26 characters.");
  if (member === "name") {
    throw new UsageError("--name must have 1 to 100 characters, without control characters, and not be blank.");
  }
  if (member === "owner") throw new UsageError("--owner must be an email address.");
  const known = issue?.code === "invalid_value" ? `; the scopes are ${issue.values.map(String).join(", ")}` : "";
  throw new UsageError(`--scopes holds "${request.scopes?.[Number(place)]}", which is not a scope${known}.`);
}

/**
 * The address and the operator's credentials of the local runner. They are given to the client itself: a profile or an
 * endpoint in the environment would otherwise take precedence.
 */
function localRunner(): LambdaClientConfig {
  const file = resolve(".local", "operator.json");
  if (!existsSync(file)) throw new UsageError(noService);
  const variables: Record<string, string> = JSON.parse(readFileSync(file, "utf8"));
  const { AWS_ENDPOINT_URL = "", AWS_REGION = "", AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = variables;
  return {
    endpoint: AWS_ENDPOINT_URL,
    region: AWS_REGION,
    credentials: { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY },
  };
}

async function invoke(name: string, request: unknown, config: LambdaClientConfig): Promise<unknown> {
  // The function makes an application each time it is invoked, so an invocation without an answer is not repeated.
  const client = new LambdaClient({ ...config, maxAttempts: 1 });
  try {
    const reply = await client.send(new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(request) }));
    const text = Buffer.from(reply.Payload ?? []).toString() || "null";
    const payload: unknown = JSON.parse(text);
    if (reply.FunctionError === undefined) return payload;
    const message = isRecord(payload) ? payload["errorMessage"] : undefined;
    throw new UsageError(`The function ${name} failed: ${String(message ?? text)}`);
  } finally {
    client.destroy();
  }
}

/** What keeps the function from being invoked, as a sentence that says what to do. */
function explained(error: unknown, name: string): unknown {
  if (error instanceof UsageError || !(error instanceof Error)) return error;
  if ("code" in error && error.code === "ECONNREFUSED") return new UsageError(noService);
  if (error.name === "ResourceNotFoundException") {
    return new UsageError(
      `There is no function ${name} in this account and region: deploy the stage, or set AWS_REGION.`,
    );
  }
  if (error.name === "CredentialsProviderError") {
    return new UsageError(
      "There are no AWS credentials: sign in to AWS, or use --local for the service that runs here.",
    );
  }
  if (error.message === "Region is missing") return new UsageError("No AWS region is set: set AWS_REGION.");
  return new UsageError(`The function ${name} could not be invoked: ${error.message}`);
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      name: { type: "string" },
      tenant: { type: "string" },
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
  const stage = stages.find((each) => each === values.stage);
  if (stage === undefined) throw new UsageError(`--stage must be ${stages.join(" or ")}, not "${values.stage}".`);
  const request = requestOf(values);
  // The SDK announces which Node it will want one day; that is no matter of this command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const name = functionName(stage, "provision");
  const made = await invoke(name, request, values.local ? localRunner() : {}).catch((error: unknown) => {
    throw explained(error, name);
  });
  console.log(JSON.stringify(made, null, 2));
});
