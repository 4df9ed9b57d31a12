import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { regions } from "../../../shared/domain/usage/prices.ts";
import { type Stage, stages } from "../../../shared/routes/route.ts";
import {
  helpAsked,
  oneOf,
  readArguments,
  runCommand,
  UsageError,
  wholeNumber,
} from "../../../shared/runtime/command-line.ts";
import { synthesizeOnce } from "../../local/synthesis.ts";
import { type Bill, billOf } from "./bill.ts";
import { type MonthlyTraffic, readTraffic, usualMonth } from "./mix.ts";
import { billPicture } from "./picture.ts";
import { comparedText, idleText, monthText, unitText } from "./report.ts";
import { costedStage } from "./template.ts";
import { measuredUnits } from "./units.ts";

const help = `Says what the service costs before the bill comes: from the synthesized template, the public prices of AWS
(shared/domain/usage/prices.ts) and counted units (infra/tools/cost/units.json, by npm run bench:units).

npm run cost -- [options]
  --requests <n>        requests of the month (default ${usualMonth.requests})
  --connections <n>     connections of the stream that are open on average (default ${usualMonth.stream_connections})
  --mix <file>          traffic of the month as JSON; each member of the default may be replaced:
                        {"requests", "mix": {"<route>": <parts>}, "events_per_request", "endpoints_per_event",
                        "prices_per_second", "stream_connections", "stream_messages_per_minute",
                        "hot_stream_sets", "stored_gigabytes", "audit_months", "operators", "dashboard_requests",
                        "dashboard_gigabytes"}
  --region <name>       ${regions.join(" or ")} (default ${regions[0]})
  --stage <name>        ${stages.join(" or ")}: this stage alone (default: the month of production, and both without
                        traffic)
  --compare <template>  what a change costs: the folder of a stage that was synthesized before it (cdk.out/production),
                        or a template in it
  --picture <file>      where the picture goes (default .local/cost.svg)
  --json                everything as JSON, with the amounts behind each line, and no picture
  --help                this text

No free tier is subtracted. Taxes, support and discounts are not part of it.`;

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    requests: { type: "string" },
    connections: { type: "string" },
    mix: { type: "string" },
    region: { type: "string", default: regions[0] },
    stage: { type: "string" },
    compare: { type: "string" },
    picture: { type: "string", default: ".local/cost.svg" },
    json: { type: "boolean", default: false },
  });
  const region = oneOf("region", values.region, regions);
  const stage = values.stage === undefined ? "production" : oneOf("stage", values.stage, stages);
  const traffic = await trafficOf(values);
  const units = measuredUnits();
  const billAt = (directory: string, of: Stage): Bill =>
    billOf({ stage: of, costed: costedStage(directory), units, region, traffic });
  const before = values.compare === undefined ? undefined : billAt(values.compare, stage);
  const bill = billAt(await synthesized(stage), stage);
  if (values.json) {
    console.log(JSON.stringify(before === undefined ? bill : { before, now: bill }, null, 2));
    return;
  }
  const others = values.stage === undefined ? stages.filter((each) => each !== stage) : [];
  const idle = [idleText(bill)];
  for (const other of others) idle.push(idleText(billAt(await synthesized(other), other)));
  const compared = before === undefined ? [] : [comparedText(before, bill)];
  console.log([unitText(bill), ...idle, monthText(bill), ...compared].join("\n\n"));
  await mkdir(dirname(resolve(values.picture)), { recursive: true });
  await writeFile(values.picture, billPicture(bill));
  console.log(`\nThe picture is in ${values.picture}.`);
}

async function trafficOf(values: {
  readonly requests?: string;
  readonly connections?: string;
  readonly mix?: string;
}): Promise<MonthlyTraffic> {
  const { requests, connections, mix } = values;
  const given = mix === undefined ? usualMonth : readTraffic(await textOf(mix), mix);
  return {
    ...given,
    ...(requests !== undefined && { requests: wholeNumber("requests", requests, 1) }),
    ...(connections !== undefined && { stream_connections: wholeNumber("connections", connections, 0) }),
  };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    throw new UsageError(`The file ${file} cannot be read.`);
  }
}

async function synthesized(stage: Stage): Promise<string> {
  return (await synthesizeOnce(stage, resolve(".local", "cdk"), console.error)).directory;
}

await runCommand(main);
