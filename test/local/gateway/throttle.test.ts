import { describe, expect, it } from "vitest";
import type { Resource } from "../../../infra/local/gateway/properties.ts";
import { Throttle, TokenBucket } from "../../../infra/local/gateway/throttle.ts";
import {
  api,
  ask,
  authorizer,
  eventsOf,
  policy,
  proxyTo,
  resource,
  type TestHost,
  testHost,
  withGateway,
} from "./support.ts";

function taken(bucket: TokenBucket, count: number, nowMs: number): number {
  let admitted = 0;
  for (let index = 0; index < count; index += 1) {
    if (!bucket.has(nowMs)) break;
    bucket.take();
    admitted += 1;
  }
  return admitted;
}

describe("token bucket", () => {
  it("starts full and gives its burst at once", () => {
    expect(taken(new TokenBucket({ rate: 10, burst: 5 }, 0), 100, 0)).toBe(5);
  });

  it("fills at its rate, fractions included, and never over its burst", () => {
    const bucket = new TokenBucket({ rate: 10, burst: 5 }, 0);
    taken(bucket, 5, 0);
    expect(taken(bucket, 5, 99)).toBe(0);
    expect(taken(bucket, 5, 100)).toBe(1);
    expect(taken(bucket, 5, 350)).toBe(2);
    expect(taken(bucket, 5, 400)).toBe(1);
    expect(taken(bucket, 100, 60_000)).toBe(5);
  });

  it("gives a token at the moment when small fractions add up to it", () => {
    const bucket = new TokenBucket({ rate: 10, burst: 1 }, 0);
    taken(bucket, 1, 0);
    for (let nowMs = 10; nowMs < 100; nowMs += 10) expect(bucket.has(nowMs)).toBe(false);
    expect(bucket.has(100)).toBe(true);
  });

  it("takes nothing from any bucket when one of them refuses", () => {
    const throttle = new Throttle();
    const wide = ["wide", { rate: 1, burst: 2 }] as const;
    const narrow = ["narrow", { rate: 1, burst: 1 }] as const;
    expect(throttle.admit([wide, narrow], 0)).toBe(true);
    expect(throttle.admit([wide, narrow], 0)).toBe(false);
    expect([throttle.admit([wide], 0), throttle.admit([wide], 0)]).toEqual([true, false]);
  });

  it("gains and loses nothing when the clock goes back", () => {
    const bucket = new TokenBucket({ rate: 10, burst: 5 }, 1_000);
    taken(bucket, 5, 1_000);
    expect(taken(bucket, 5, 0)).toBe(0);
    expect(taken(bucket, 5, 1_100)).toBe(1);
  });

  it("admits rate × time + burst over a long run, in steps that no fraction fits", () => {
    const bucket = new TokenBucket({ rate: 150, burst: 300 }, 0);
    let admitted = 0;
    for (let nowMs = 0; nowMs <= 10_000; nowMs += 7) admitted += taken(bucket, 10, nowMs);
    expect(admitted).toBe(Math.floor(300 + 150 * 9.996));
  });
});

const token = (name: string) => ({ headers: [["Authorization", name]] }) as const;

function plan(more: Record<string, unknown> = {}, ofStage: Record<string, unknown> = {}): Resource {
  return resource("plan", "UsagePlan", { ApiStages: [{ ApiId: "api", Stage: "v2", ...ofStage }], ...more });
}

function graph(...extra: Resource[]): Resource[] {
  const guarded = { authorizer: "authorizer", key: true };
  const methods = {
    "GET /me": { integration: proxyTo("me"), ...guarded },
    "GET /quotes/{symbol}": { integration: proxyTo("me"), ...guarded },
    "GET /open": { integration: proxyTo("me") },
  };
  return api(methods, [authorizer(), ...extra]);
}

function hostOf(): TestHost {
  const host = testHost({
    me: () => ({ statusCode: 200 }),
    authorize: (event) => policy("Allow", "*", { usageIdentifierKey: `key of ${event.headers["Authorization"]}` }),
  });
  for (const name of ["one", "two"]) {
    host.keys.set(`key of ${name}`, { id: `id-${name}`, enabled: true, usage_plan_ids: ["plan"] });
  }
  return host;
}

async function statuses(origin: string, path: string, name: string, count: number): Promise<number[]> {
  const list: number[] = [];
  for (let index = 0; index < count; index += 1) list.push((await ask(origin, path, token(name))).status);
  return list;
}

describe("API keys and usage plans", () => {
  it("refuses a key that is unknown, disabled or in no plan of this stage", async () => {
    const host = hostOf();
    host.keys.set("key of off", { id: "off", enabled: false, usage_plan_ids: ["plan"] });
    host.keys.set("key of alien", { id: "alien", enabled: true, usage_plan_ids: ["another"] });
    await withGateway(graph(plan()), host, async (origin) => {
      for (const name of ["nobody", "off", "alien"]) {
        const answer = await ask(origin, "/v2/me", token(name));
        expect([answer.status, answer.json()]).toEqual([403, { message: "Forbidden" }]);
        expect(answer.header("x-amzn-errortype")).toBe("ForbiddenException");
      }
      expect((await ask(origin, "/v2/me", token("one"))).status).toBe(200);
    });
  });

  it("refuses when the authorizer names no key, and tells the function the key's id", async () => {
    const host = hostOf();
    await withGateway(graph(plan()), host, async (origin) => {
      await ask(origin, "/v2/me", token("one"));
      host.functions.set("authorize", () => policy("Allow", "*"));
      expect((await ask(origin, "/v2/me", token("two"))).status).toBe(403);
    });
    expect(eventsOf(host, "me")[0]?.requestContext["identity"]).toMatchObject({ apiKeyId: "id-one" });
  });

  it("takes the key from X-API-Key where the API says so", async () => {
    const host = hostOf();
    const apiResource = resource("api", "RestApi", { ApiKeySourceType: "HEADER" });
    const methods = { "GET /me": { integration: proxyTo("me"), key: true } };
    await withGateway(api(methods, [apiResource, plan()]), host, async (origin) => {
      expect((await ask(origin, "/v2/me")).status).toBe(403);
      expect((await ask(origin, "/v2/me", { headers: [["x-api-key", "key of one"]] })).status).toBe(200);
    });
  });

  it("gives every key the plan's burst and rate for itself", async () => {
    const host = hostOf();
    await withGateway(graph(plan({ Throttle: { RateLimit: 10, BurstLimit: 2 } })), host, async (origin) => {
      expect(await statuses(origin, "/v2/me", "one", 3)).toEqual([200, 200, 429]);
      expect(await statuses(origin, "/v2/me", "two", 1)).toEqual([200]);
      host.clockMs += 100;
      expect(await statuses(origin, "/v2/me", "one", 2)).toEqual([200, 429]);
    });
  });

  it("does not lift the plan's limit by a wider limit of one method", async () => {
    const Throttle = { "/quotes/{symbol}/GET": { RateLimit: 100, BurstLimit: 200 } };
    const limited = plan({ Throttle: { RateLimit: 1, BurstLimit: 2 } }, { Throttle });
    await withGateway(graph(limited), hostOf(), async (origin) => {
      expect(await statuses(origin, "/v2/quotes/EURUSD", "one", 3)).toEqual([200, 200, 429]);
    });
  });

  it("limits one method more narrowly, and a request refused there costs the plan nothing", async () => {
    const Throttle = { "/quotes/{symbol}/GET": { RateLimit: 1, BurstLimit: 1 } };
    const limited = plan({ Throttle: { RateLimit: 1, BurstLimit: 3 } }, { Throttle });
    await withGateway(graph(limited), hostOf(), async (origin) => {
      expect(await statuses(origin, "/v2/quotes/EURUSD", "one", 3)).toEqual([200, 429, 429]);
      expect(await statuses(origin, "/v2/me", "one", 3)).toEqual([200, 200, 429]);
    });
  });

  it("throttles after the authorizer: a stranger gets 401, not 429", async () => {
    const host = hostOf();
    await withGateway(graph(plan({ Throttle: { RateLimit: 1, BurstLimit: 1 } })), host, async (origin) => {
      expect(await statuses(origin, "/v2/me", "one", 2)).toEqual([200, 429]);
      expect((await ask(origin, "/v2/me")).status).toBe(401);
      const throttled = await ask(origin, "/v2/me", token("one"));
      expect(throttled.json()).toEqual({ message: "Too Many Requests" });
      expect(throttled.header("x-amzn-errortype")).toBe("TooManyRequestsException");
    });
  });

  it("shares the limit of the stage among all callers, for each method apart, open ones included", async () => {
    const MethodSettings = [
      { ResourcePath: "/*", HttpMethod: "*", ThrottlingRateLimit: 1, ThrottlingBurstLimit: 2, LoggingLevel: "ERROR" },
      { ResourcePath: "/~1open", HttpMethod: "GET", ThrottlingRateLimit: 1, ThrottlingBurstLimit: 1 },
    ];
    const stage = { RestApiId: "api", StageName: "v2", DeploymentId: "deployment", MethodSettings };
    await withGateway(graph(plan(), resource("v2", "Stage", stage)), hostOf(), async (origin) => {
      expect(await statuses(origin, "/v2/me", "one", 1)).toEqual([200]);
      expect(await statuses(origin, "/v2/me", "two", 2)).toEqual([200, 429]);
      expect(await statuses(origin, "/v2/quotes/EURUSD", "one", 1)).toEqual([200]);
      expect(await statuses(origin, "/v2/open", "one", 2)).toEqual([200, 429]);
    });
  });
});
