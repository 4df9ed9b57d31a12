import { helpAsked, readArguments, UsageError } from "../../../shared/runtime/command-line.ts";
import { connectionOf, runServiceCommand } from "../service-client.ts";
import { Session } from "../smoke/session.ts";
import { type Drill, drills } from "./drills.ts";

const list = Object.entries(drills)
  .map(([name, { title }]) => `  ${name.padEnd(20)} ${title}`)
  .join("\n");

const help = `Makes a situation on the running npm start, so that its runbook can be followed against something.

npm run drill -- <situation>
${list}
  --help               this text`;

await runServiceCommand(async () => {
  if (helpAsked(help)) return;
  const { positionals } = readArguments({}, { positionals: 1 });
  const [name] = positionals;
  const drill: Drill | undefined = Object.entries(drills).find(([each]) => each === name)?.[1];
  if (drill === undefined) {
    throw new UsageError(`The first argument must be a situation: ${Object.keys(drills).join(", ")}.`);
  }
  const { base_url, client_id, client_secret } = connectionOf(undefined);
  console.log(`${drill.title}: infra/runbooks/${drill.runbook}\n`);
  for (const line of await drill.make(new Session(base_url, { client_id, client_secret }))) console.log(line);
});
