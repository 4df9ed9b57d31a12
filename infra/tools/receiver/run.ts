import { helpAsked, readArguments, runCommand, UsageError, wholeNumber } from "../../../shared/runtime/command-line.ts";
import { startReceiver } from "./receiver.ts";

const help = `Receives webhooks on this machine and prints them, until Ctrl-C.

npm run receiver -- [options]
  --port <n>         port on 127.0.0.1; 0 takes any free one (default 4000)
  --secret <secret>  the endpoint's secret, whsec_...: verifies the signatures, and answers 400 when one is wrong;
                     given twice, either may have signed, as while a secret is rotated
  --status <n>       status of the answers (default 200)
  --fail-first <n>   answers 500 to the first n attempts of each event
  --delay <ms>       waits before it answers
  --help             this text

Any path will do, so several endpoints can be told apart by theirs. The signatures are verified by the packages stripe
and standardwebhooks, unchanged.`;

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    port: { type: "string", default: "4000" },
    secret: { type: "string", multiple: true, default: [] },
    status: { type: "string", default: "200" },
    "fail-first": { type: "string", default: "0" },
    delay: { type: "string", default: "0" },
  });
  const { secret: secrets } = values;
  if (secrets.some((secret) => !/^whsec_[A-Za-z0-9+/]+=*$/.test(secret))) {
    throw new UsageError("--secret must be the secret that the service showed: whsec_ and base64.");
  }
  const receiver = await startReceiver({
    port: wholeNumber("port", values.port, 0, 65_535),
    secrets,
    status: wholeNumber("status", values.status, 200, 599),
    failFirst: wholeNumber("fail-first", values["fail-first"], 0, 1_000_000),
    delayMs: wholeNumber("delay", values.delay, 0, 3_600_000),
    print: (text) => console.log(`\n${text}`),
  }).catch((error: unknown) => {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    throw taken ? new UsageError("The port is taken; give another one with --port, or --port 0 for any.") : error;
  });
  console.log(`Receiving at ${receiver.url}  Register this address as a webhook endpoint; Ctrl-C stops it.`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void receiver.stop().finally(() => process.exit(0)));
  }
}

await runCommand(main);
