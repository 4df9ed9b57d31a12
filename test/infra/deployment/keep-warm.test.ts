import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backgroundOf } from "../../../infra/background/index.ts";
import { keepWarmRow } from "../../../infra/background/warm-rows.ts";
import { bundle } from "../../../infra/bundle.ts";
import { routes } from "../../../shared/routes/index.ts";
import { at, ofType, only } from "../assembly.ts";
import { synthesized } from "../stack-cases.ts";

let outdir: string;

beforeEach(async () => {
  outdir = await mkdtemp(join(tmpdir(), "keep-warm-"));
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  await rm(outdir, { recursive: true, force: true });
});

/** The functions that the schedule of production keeps warm. */
function keptWarm(): string[] {
  const schedules = ofType(synthesized("production"), "AWS::Scheduler::Schedule");
  const mine = only(schedules.filter(({ properties }) => properties["Name"] === "brokerage-production-keep-warm"));
  expect(mine.properties["ScheduleExpression"]).toBe("rate(1 minute)");
  return (JSON.parse(String(at(mine.properties, "Target", "Input"))) as { functions: string }).functions.split(" ");
}

test("every function that a caller waits for is kept warm in production, and nothing in the sandbox", () => {
  const behindRoutes = routes.filter(({ stages }) => stages.includes("production")).map(({ id }) => id);
  const others = ["authorize", "stream-authorize", "stream-connect", "stream-disconnect", "stream-message"];
  const ids = [...behindRoutes.map((id) => id.replaceAll("_", "-")), ...others].sort();
  expect(keptWarm().sort()).toEqual(ids);
  const functions = ofType(synthesized("production"), "AWS::Lambda::Function");
  expect(functions.map(({ properties }) => properties["FunctionName"])).toEqual(
    expect.arrayContaining(ids.map((id) => `brokerage-production-${id}`)),
  );
  expect(backgroundOf("sandbox").map(({ id }) => id)).not.toContain("keep-warm");
  expect(backgroundOf("sandbox", true).map(({ id }) => id)).toContain("keep-warm");
});

test("what acts on an event of its own cannot be invoked by it", () => {
  const rows = backgroundOf("production", false);
  const [, denied] = keepWarmRow("production", rows).statements({} as never);
  expect(denied?.effect).toBe("Deny");
  const named = denied?.resources.map((arn) => arn.split(":brokerage-production-").at(-1));
  expect(named).toEqual(expect.arrayContaining(["provision", "rotate-signing-key", "seal-audit", "deliver", "route"]));
});

test("the entry of a bundle answers the warm-up event, and its handler every other one", async () => {
  const root = new URL("../fixtures", import.meta.url).pathname;
  await bundle({ entries: [{ name: "The fixture", file: "handler" }], root, outdir });
  const { handler } = await import(pathToFileURL(join(outdir, "handler/index.mjs")).href);
  expect(await handler({ warm_up: true })).toBeUndefined();
  expect(await handler({ httpMethod: "GET" })).toEqual({ statusCode: 204 });
});

test("five runs invoke every function once with the event and untraced, and a refusal stops no other", async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const name =
        /^\/2015-03-31\/functions\/brokerage-production-(.*)\/invocations$/.exec(request.url ?? "")?.[1] ?? "";
      const { "x-amz-invocation-type": type, "x-amzn-trace-id": trace } = request.headers;
      seen.push([name, type, Buffer.concat(chunks).toString(), /Sampled=\d/.exec(String(trace))?.[0]].join(" "));
      if (name === "refused") response.writeHead(404, { "x-amzn-errortype": "ResourceNotFoundException" }).end("{}");
      else response.writeHead(202).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_REGION", "us-east-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
  vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "brokerage-production-keep-warm");
  vi.stubEnv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1");
  vi.stubEnv("STAGE", "production");
  vi.stubEnv("LOG_LEVEL", "SILENT");
  try {
    const root = new URL("../../../functions", import.meta.url).pathname;
    await bundle({ entries: [{ name: "It", file: "upkeep/keep-warm" }], root, outdir });
    const { handler } = await import(pathToFileURL(join(outdir, "upkeep/keep-warm/index.mjs")).href);
    const ids = Array.from({ length: 12 }, (_, n) => (n === 6 ? "refused" : `function-${n}`));
    vi.useFakeTimers({ toFake: ["Date"] });
    const failed: string[] = [];
    for (let minute = 0; minute < 5; minute += 1) {
      vi.setSystemTime(Date.parse("2026-11-28T12:00:30Z") + minute * 60_000);
      await handler({ functions: ids.join(" ") }).catch(({ message }: Error) => failed.push(message));
    }
    // A refusal under a clock that is set is tried again for the clock's sake.
    expect([...new Set(seen)].sort()).toEqual(ids.map((id) => `${id} Event {"warm_up":true} Sampled=0`).sort());
    expect(failed).toEqual(["1 of 3 functions could not be invoked."]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
