import { stages } from "../../shared/routes/route.ts";
import { helpAsked, oneOf, readArguments, runCommand, UsageError } from "../../shared/runtime/command-line.ts";
import { functionName } from "../stages.ts";
import { awsAdvice, invokeFunction, localRunner } from "./operator.ts";
import { nextSteps, restoreFrom } from "./restore/from.ts";

const help = `Restores a stage to a moment, or numbers the events of one brokerage on by hand.

npm run restore -- from --at <time> [options]
  --at <time>           moment that is restored, such as 2026-01-31T12:00:00Z
  --stage <stage>       ${stages.join(" or ")} (default production)
  --stopped             says that nothing writes any more; without it the table is restored and nothing else

It restores into a new table, notes the numbers of events, compares, takes the audit over, sets the table up, numbers
the events on and says how the stage is switched over. What is done is noted in .local/restore-<stage>.json: a run that
was ended goes on with its step when it is repeated.

npm run restore -- numbers --brokerage <id> --last-valid <n> --after <n> --restored-to <time> [options]
  --brokerage <id>      brokerage, brk_...
  --last-valid <n>      number of the last event that the restored data have
  --after <n>           number of the last event that any receiver may have seen, or more
  --restored-to <time>  time that the data were restored to, such as 2026-01-31T12:00:00Z
  --stage <stage>       stage that it is in, ${stages.join(" or ")} (default sandbox)
  --local               on the service that npm start runs here, instead of AWS
  --help                this text

The event brokerage.restored gets the next number. It says that the events above --last-valid up to --after are void.
Run it while the brokerage has no traffic; infra/runbooks/restore.md says where the two numbers are found.
On AWS it invokes the stage's sweep-events function with your credentials, which must allow lambda:InvokeFunction.`;

/** The options by the members of the request. */
const optionOf: Readonly<Record<string, string>> = {
  tenant_id: "--brokerage",
  last_valid_sequence: "--last-valid",
  after_sequence: "--after",
  restored_to: "--restored-to",
};

/** The function speaks of members of its request, and a person of options. */
function inOptions(error: unknown): unknown {
  if (!(error instanceof UsageError)) return error;
  return new UsageError(error.message.replaceAll(/[a-z]+(?:_[a-z]+)+/g, (member) => optionOf[member] ?? member));
}

async function restored(values: {
  readonly at?: string;
  readonly stage?: string;
  readonly stopped: boolean;
}): Promise<void> {
  const stage = oneOf("stage", values.stage ?? "production", stages);
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(values.at ?? "") ? values.at : undefined;
  if (at === undefined || Number.isNaN(Date.parse(at))) {
    throw new UsageError("--at must be a moment in UTC such as 2026-01-31T12:00:00Z.");
  }
  const done = await restoreFrom({ stage, at, isStopped: values.stopped }, console.error).catch((error: unknown) => {
    throw awsAdvice(error, (text) => `AWS refused a step: ${text}. Repeat the command when that is mended.`);
  });
  console.log(nextSteps(done));
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      at: { type: "string" },
      stopped: { type: "boolean", default: false },
      brokerage: { type: "string" },
      "last-valid": { type: "string" },
      after: { type: "string" },
      "restored-to": { type: "string" },
      stage: { type: "string" },
      local: { type: "boolean", default: false },
    },
    { positionals: 1 },
  );
  const [word] = positionals;
  if (word === "from") return await restored(values);
  if (word !== "numbers") {
    throw new UsageError(`The first argument must be from or numbers${word === undefined ? "" : `, not "${word}"`}.`);
  }
  const stage = oneOf("stage", values.stage ?? "sandbox", stages);
  const request = {
    ...{ tenant_id: values.brokerage, last_valid_sequence: values["last-valid"] },
    ...{ after_sequence: values.after, restored_to: values["restored-to"] },
  };
  for (const [member, value] of Object.entries(request)) {
    if (value === undefined) throw new UsageError(`${optionOf[member]} must be given; --help says what it is.`);
  }
  const config = values.local ? localRunner().config : {};
  const asked = { action: "resume_numbers", ...request };
  const answer = invokeFunction(functionName(stage, "sweep-events"), asked, config);
  const made = await answer.catch((error: unknown) => {
    throw inOptions(error);
  });
  console.log(JSON.stringify(made, null, 2));
});
