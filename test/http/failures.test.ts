import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type GatewayHost, InvocationTimeout } from "../../infra/local/gateway/host.ts";
import { startGateway } from "../../infra/local/gateway/index.ts";
import { readAssembly } from "../../infra/local/template/assembly.ts";
import { limits } from "../../shared/limits.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { type Scope, scopes } from "../../shared/schema/scope.ts";
import { startApi } from "../support/emulator/api.ts";
import { addressOf, newCaller } from "../support/emulator/request.ts";
import { failure } from "../support/emulator/watched-endpoint.ts";
import { judge } from "../support/rules/description.ts";
import { seenOf } from "../support/stack/stack.ts";

const named = (rows: readonly Route[]) => rows.map((row) => [`${row.method} ${row.path}`, row] as const);
const guarded = routes.filter((row) => row.auth === "token");
const onTable = guarded.filter((row) => row.grants.length > 0);

/** Limit that refuses a row of each class when every counter is full. */
const policies: Readonly<Record<string, string>> = {
  standard: "minute",
  quotes: "quotes",
  feed: "feed",
  feed_quotes: "feed_quotes",
};

/** A counter that holds as much as it can in every second. */
function fullCounter(): Record<string, { N: string }> {
  const slots = ["q", "f", "t"].flatMap((slot) => Array.from({ length: 60 }, (_, second) => `${slot}${second}`));
  const full = { N: String(limits.rate.per_minute) };
  return { n: full, ...Object.fromEntries(slots.map((slot) => [slot, full])) };
}

describe("the pipeline", async () => {
  const api = await startApi("watched");
  afterAll(api.stop);
  const caller = newCaller({ scopes: [...scopes] as Scope[] });
  const parts = (row: Route) => (row.body === undefined ? {} : { body: row.example });

  it.each(named(guarded))(
    "of %s answers 429 when the counter is full, before anything else is done",
    async (_, row) => {
      api.watched.interfere = ({ operation }) =>
        operation === "UpdateItem"
          ? {
              status: 400,
              body: {
                __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
                Item: fullCounter(),
              },
            }
          : undefined;
      const answer = await api.call(caller, row.method, addressOf(row), parts(row));
      api.watched.interfere = () => undefined;
      expect(answer).toMatchObject({
        status: 429,
        body: { code: "rate_limit_exceeded", "violated-policies": [policies[row.rate]] },
      });
      expect(Number(answer.headers["Retry-After"])).toBeGreaterThanOrEqual(1);
      expect(answer.headers["X-RateLimit-Remaining"]).toBe("0");
    },
  );

  it.each(named(onTable))("of %s answers 500 without details of the table when the table fails", async (_, row) => {
    api.watched.interfere = ({ operation, tables }) =>
      operation === "UpdateItem" && tables.some((name) => name.endsWith("-volatile"))
        ? undefined
        : failure("ValidationException", "canary of the table");
    const answer = await api.call(caller, row.method, addressOf(row), parts(row));
    api.watched.interfere = () => undefined;
    expect(answer).toMatchObject({ status: 500, body: { code: "internal_error" } });
    expect(answer.text).not.toContain("canary");
  });

  it("of every row answers 503 with Retry-After when the table is unavailable", async () => {
    api.watched.interfere = () => ({ ...failure("InternalServerError", "canary of the table"), status: 500 });
    const answers = onTable.map((row) => api.call(caller, row.method, addressOf(row), parts(row)));
    for (const { status, headers, body, text } of await Promise.all(answers)) {
      expect([status, body.code, headers["Retry-After"]]).toEqual([503, "service_unavailable", "2"]);
      expect(text).not.toContain("canary");
    }
    api.watched.interfere = () => undefined;
  });
});

/** Functions that fail as configured; by default the authorizer lets every caller in. */
class FailingHost implements GatewayHost {
  fate: () => Promise<{ payload: unknown; functionError?: string }> = async () => ({ payload: null });
  authorizer: () => unknown = () => ({
    principalId: "app",
    policyDocument: { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] },
    usageIdentifierKey: "key",
  });
  plans: string[] = [];
  nowMs = Date.UTC(2026, 10, 21);
  /** How many times the clock can still be read. */
  clockReads = Number.POSITIVE_INFINITY;

  async invoke(functionArn: string) {
    if (!functionArn.endsWith("-authorize")) return this.fate();
    try {
      return { payload: this.authorizer() };
    } catch (error) {
      return { payload: { errorMessage: (error as Error).message }, functionError: "Unhandled" };
    }
  }

  findApiKey() {
    return this.plans.length === 0 ? undefined : { id: "key", enabled: true, usage_plan_ids: this.plans };
  }

  now() {
    if (this.clockReads === 0) throw new Error("The clock stands still.");
    this.clockReads -= 1;
    return this.nowMs;
  }
}

describe("the gateway of the template", () => {
  const host = new FailingHost();
  const faults: string[] = [];
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  let plans: string[] = [];

  beforeAll(async () => {
    const { resources } = readAssembly(inject("assemblyDir"));
    const scarce = resources.map((resource) => {
      if (resource.type !== "AWS::ApiGateway::Stage") return resource;
      const MethodSettings = [{ HttpMethod: "*", ResourcePath: "/*", ThrottlingBurstLimit: 1, ThrottlingRateLimit: 1 }];
      return { ...resource, properties: { ...resource.properties, MethodSettings } };
    });
    plans = resources.filter(({ type }) => type === "AWS::ApiGateway::UsagePlan").map((one) => one.physical_id);
    gateway = await startGateway(scarce, host, {
      port: 0,
      onAnswer: (exchange, reply) => faults.push(...judge(seenOf(exchange, reply))),
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    expect(faults).toEqual([]);
  });

  /** Sends a request after the bucket of every method has filled up again. */
  async function ask(row: Route, more: RequestInit = {}): Promise<{ status: number; code: string; headers: Headers }> {
    const body = row.body === undefined ? undefined : JSON.stringify(row.example);
    const reply = await fetch(`${gateway.origin}/v2${addressOf(row)}`, {
      method: row.method,
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${newId("tok")}` },
      ...(body === undefined ? {} : { body }),
      ...more,
    });
    const problem = (await reply.json()) as { code: string; status: number };
    expect(problem.status).toBe(reply.status);
    return { status: reply.status, code: problem.code, headers: reply.headers };
  }

  it.each([
    ["Request aborted", 503, "service_unavailable", "2"],
    ["Unauthorized", 401, "unauthenticated", null],
  ])("whose authorizer fails with %j answers %i", async (message, status, code, retryAfter) => {
    const { authorizer } = host;
    host.nowMs += 10_000_000;
    host.authorizer = () => {
      throw new Error(message);
    };
    const reply = await ask(guarded[0] as Route);
    host.authorizer = authorizer;
    expect([reply.status, reply.code, reply.headers.get("retry-after")]).toEqual([status, code, retryAfter]);
  });

  const fails: readonly (readonly [string, number, string, () => Promise<never>])[] = [
    ["ends before it answers", 502, "bad_gateway", () => Promise.reject(new Error("killed"))],
    ["takes too long", 504, "gateway_timeout", () => Promise.reject(new InvocationTimeout("29 s"))],
  ];

  describe.each(named(routes))("for %s", (_, row) => {
    const freshly = (work: () => void) => {
      host.nowMs += 10_000_000;
      host.clockReads = Number.POSITIVE_INFINITY;
      host.plans = plans;
      work();
    };

    it.each(fails)("whose function %s, answers %i", async (_how, status, code, fate) => {
      freshly(() => {
        host.fate = fate;
      });
      expect(await ask(row)).toMatchObject({ status, code });
    });

    it("answers 500 when the gateway itself fails", async () => {
      freshly(() => {
        host.clockReads = 1;
      });
      expect(await ask(row)).toMatchObject({ status: 500, code: "internal_error" });
    });

    it("answers 429 with Retry-After to more requests than it takes", async () => {
      freshly(() => {
        host.fate = () => Promise.reject(new Error("killed"));
      });
      await ask(row);
      const refused = await ask(row);
      expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
      expect(refused.headers.get("retry-after")).toBe("1");
    });

    it("answers 503 with Retry-After while it cannot authorize, if its row requires a token", async () => {
      freshly(() => {
        host.plans = [];
      });
      if (row.auth === "none") return;
      const reply = await ask(row);
      expect(reply).toMatchObject({ status: 503, code: "service_unavailable" });
      expect(reply.headers.get("retry-after")).toBe("2");
    });
  });
});
