import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApiClient, type ApiReply, fundedAccount, someClient } from "../support/stack/api-client.ts";
import { type Received, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { type Stack, sharedStack } from "../support/stack/stack.ts";
import { callsTo, eventOf, register } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  [stack, receiver] = await Promise.all([sharedStack(), startReceiver()]);
});
afterAll(async () => {
  await stack?.stop();
  await receiver?.stop();
});

interface Commit {
  readonly trace_id: string;
  readonly request_id: string | null;
  readonly event_ids: readonly string[];
}

interface Line {
  readonly message: string;
  readonly request_id?: string;
  readonly trace_id?: string;
  readonly xray_trace_id: string;
  readonly event_id?: string;
  readonly replayed?: true;
  readonly commits?: readonly Commit[];
}

/**
 * Log lines of the functions with this text, as a search over all log groups finds them; text behind the last end of a
 * line is still being written.
 */
function linesWith(text: string): Line[] {
  const folder = join(stack.dataDir, "logs");
  const files = readdirSync(folder).filter((name) => name.startsWith("brokerage-"));
  const logs = files.map((name) => readFileSync(join(folder, name), "utf8")).filter((log) => log.includes(text));
  const lines = logs.flatMap((log) => log.split("\n").slice(0, -1));
  return lines.filter((line) => line.startsWith("{") && line.includes(text)).map((line) => JSON.parse(line));
}

/** The lines with this text, once there are so many about deliveries. */
function followed(text: string, deliveries: number): Promise<Line[]> {
  return eventually(() => {
    const lines = linesWith(text);
    return lines.filter(({ message }) => message === "delivery").length >= deliveries ? lines : undefined;
  });
}

const messagesOf = (lines: readonly Line[]) => lines.map(({ message }) => message).sort();
const traceOf = ({ headers }: ApiReply) => /Root=([^;]+)/.exec(headers.get("x-amzn-trace-id") ?? "")?.[1] ?? "none";
const requestOf = ({ headers }: ApiReply) => headers.get("x-request-id") ?? "none";

/** An event as its receiver reads it, with who caused it. */
function decided(call: Received): { readonly id: string; readonly actor: { readonly type: string } } {
  return JSON.parse(call.body);
}

async function create(api: ApiClient, headers: Readonly<Record<string, string>> = {}, body: object = someClient()) {
  const reply = await api.call<{ id: string }>("POST", "/clients", { body, headers });
  expect([reply.status, reply.text]).toEqual([201, reply.text]);
  return reply;
}

describe("a request is followed from the gateway to its delivery", () => {
  it("by its trace and by its id alike: the request, the publication and each delivery", async () => {
    const { api } = await stack.newApplication();
    await register(api, `${receiver.url}/traced`);
    await register(api, `${receiver.url}/traced-too`);
    const reply = await create(api);
    const [byTrace, byRequest] = await Promise.all([followed(traceOf(reply), 2), followed(requestOf(reply), 2)]);
    expect(messagesOf(byTrace)).toEqual(["delivery", "delivery", "published", "request"]);
    expect(byRequest).toEqual(byTrace);
    const [first] = callsTo(receiver, "/traced");
    const event_id = first && eventOf(first).id;
    for (const line of byTrace) {
      const { commits = [line] } = line;
      const own = commits.find(({ request_id }) => request_id === requestOf(reply));
      expect(line.message === "request" ? line.xray_trace_id : own?.trace_id).toBe(traceOf(reply));
      if (line.message === "delivery") expect(line.event_id).toBe(event_id);
      if (line.message === "published") expect(own).toMatchObject({ event_ids: [event_id] });
    }
  });

  it("by the caller's own trace, where its traceparent is valid, and by no other", async () => {
    const { api } = await stack.newApplication();
    await register(api, `${receiver.url}/parent`);
    const own = "4bf92f3577b34da6a3ce929d0e0e4736";
    const reply = await create(api, { traceparent: `00-${own}-00f067aa0ba902b7-01` });
    const lines = await followed("1-4bf92f35-77b34da6a3ce929d0e0e4736", 1);
    expect(messagesOf(lines)).toEqual(["delivery", "published", "request"]);
    // The gateway knows no traceparent: the line of the request joins both.
    expect(lines.find(({ message }) => message === "request")?.xray_trace_id).toBe(traceOf(reply));
    const invalid = await create(api, { traceparent: `00-${own}-0000000000000000-01` });
    expect(messagesOf(await followed(traceOf(invalid), 1))).toEqual(["delivery", "published", "request"]);
    expect(linesWith("1-4bf92f35-77b34da6a3ce929d0e0e4736")).toEqual(lines);
  });

  it("and a repetition under its Idempotency-Key leaves the event its first trace", async () => {
    const { api } = await stack.newApplication();
    await register(api, `${receiver.url}/replayed`);
    const [headers, body] = [{ "Idempotency-Key": "traced-once" }, someClient()];
    const first = await create(api, headers, body);
    const again = await create(api, headers, body);
    expect(again.body.id).toBe(first.body.id);
    expect(messagesOf(await followed(traceOf(first), 1))).toEqual(["delivery", "published", "request"]);
    const lines = linesWith(traceOf(again));
    expect(lines.map(({ message, replayed }) => [message, replayed])).toEqual([["request", true]]);
    expect(callsTo(receiver, "/replayed")).toHaveLength(1);
  });
});

describe("what the service decides by itself", () => {
  it("has the trace of the run that decided, from its publication to its delivery", async () => {
    const { api } = await stack.newApplication();
    const { account_id } = await fundedAccount(api, "10.00");
    await register(api, `${receiver.url}/swept`, { event_types: ["transaction.updated"] });
    const body = { account_id, amount: "1.13", provider: "sandbox" };
    const asked = await api.call("POST", "/transactions/deposit", { body });
    const { id: event_id } = await eventually(async () => {
      await stack.cloud.invoke("brokerage-sandbox-sandbox-simulate-provider", { action: "sweep" });
      return callsTo(receiver, "/swept")
        .map(decided)
        .find(({ actor }) => actor.type === "system");
    });
    const lines = await followed(event_id, 1);
    expect(messagesOf(lines)).toEqual(["delivery", "published"]);
    const commit = lines.flatMap(({ commits = [] }) => commits).find(({ event_ids }) => event_ids.includes(event_id));
    const delivery = lines.find(({ message }) => message === "delivery");
    expect([commit?.request_id, delivery?.request_id]).toEqual([null, null]);
    expect(delivery?.trace_id).toBe(commit?.trace_id);
    expect(commit?.trace_id).toMatch(/^1-[0-9a-f]{8}-[0-9a-f]{24}$/);
    expect(commit?.trace_id).not.toBe(traceOf(asked));
  });
});
