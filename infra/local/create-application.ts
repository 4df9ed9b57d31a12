import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { functionName, stageConfig } from "../stages.ts";

const help = `Makes an API application of a tenant: the first one cannot come from a token.

npm run application -- create --name <name> [options]
  --name <name>      name of the application
  --tenant <id>      tenant that it belongs to, brk_...; without it a new tenant is made
  --stage <stage>    stage to make it in (default sandbox)
  --scopes <list>    scopes with commas between them; without it all of them
  --local            on the service that npm start runs here, instead of AWS
  --help             this text

On AWS it invokes the stage's provision function with your credentials, which must allow lambda:InvokeFunction.
The client secret is shown once and cannot be read again.`;

/** A wrong call, or an answer that tells the user what to do; printed without a stack. */
class UsageError extends Error {}

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string" },
        tenant: { type: "string" },
        stage: { type: "string", default: "sandbox" },
        scopes: { type: "string" },
        local: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
  }
}

/** Points the SDK at the local runner, with the operator's credentials there. */
function useLocalRunner(): void {
  const file = resolve(".local", "operator.json");
  if (!existsSync(file)) throw new UsageError("No service runs here: npm start starts one.");
  const variables: Record<string, string> = JSON.parse(readFileSync(file, "utf8"));
  Object.assign(process.env, variables);
}

async function invoke(name: string, request: unknown): Promise<unknown> {
  const client = new LambdaClient({});
  try {
    const reply = await client.send(new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(request) }));
    const text = Buffer.from(reply.Payload ?? []).toString() || "null";
    const payload: unknown = JSON.parse(text);
    if (reply.FunctionError !== undefined) throw new UsageError(`The application was not made: ${text}`);
    return payload;
  } finally {
    client.destroy();
  }
}

async function main(): Promise<void> {
  const { values, positionals } = readOptions();
  if (values.help) {
    console.log(help);
    return;
  }
  const { name, tenant, stage, scopes } = values;
  if (positionals.join() !== "create" || name === undefined) throw new UsageError(help);
  if (values.local) useLocalRunner();
  // The SDK announces which Node it will want one day; that is no matter of this command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const request = {
    action: "create_application",
    tenant_id: tenant ?? null,
    name,
    scopes: scopes === undefined ? null : scopes.split(",").map((scope) => scope.trim()),
  };
  const made = await invoke(functionName(stageConfig(stage).stage, "provision"), request);
  console.log(JSON.stringify(made, null, 2));
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
