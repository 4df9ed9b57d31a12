import { stages } from "../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, runCommand } from "../../shared/runtime/command-line.ts";
import { functionName } from "../stages.ts";
import { invokeFunction, localRunner } from "./operator.ts";

const help = `Compares the books of every brokerage now; the service does it every night.

npm run reconcile -- [options]
  --stage <stage>    stage whose books are compared, ${stages.join(" or ")} (default sandbox)
  --local            on the service that npm start runs here, instead of AWS
  --help             this text

It prints how many comparisons it completed, and with how many brokerages it failed. What ten minutes do not suffice for
goes on every quarter of an hour. GET /reports/reconciliation shows what was compared and each difference.
On AWS it invokes the stage's function reconcile-books with your credentials, which must allow lambda:InvokeFunction.`;

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    stage: { type: "string", default: "sandbox" },
    local: { type: "boolean", default: false },
  });
  const stage = oneOf("stage", values.stage, stages);
  // The SDK announces which Node it will want one day; that is no matter of this command.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  const config = values.local ? localRunner().config : {};
  console.log(
    JSON.stringify(await invokeFunction(functionName(stage, "reconcile-books"), { action: "start" }, config)),
  );
});
