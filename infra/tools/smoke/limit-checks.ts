import type { Reply } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { must, Unseen } from "./finding.ts";
import { mustBeProblem } from "./gateway-checks.ts";
import { functionOf, gatewayResponse, resources } from "./resources.ts";
import { send } from "./session.ts";

/** Requests of one round: more than the 50 of an application and second. */
const roundRequests = 60;
const rounds = 8;
const perSecond = 50;

/** Requests that go beyond the bucket of the plan, 300 and 150 more each second, where they take two seconds. */
const planRequests = 900;
const planConnections = 40;
const planBurst = 300;
const planPerSecond = 150;
/** AWS applies a plan's limits on a best-effort basis: so many times as much says that it applies none. */
const planTolerance = 1.3;

async function rateHeaders(context: Context): Promise<void> {
  const named = [functionOf("get_me"), resources.volatileTable];
  const { headers } = await context.session.expect(200, "GET", "/me", named);
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  );
  must(limit === 1000, `X-RateLimit-Limit is ${limit}`, named);
  must(Number(remaining) >= 0 && Number(remaining) < 1000, `X-RateLimit-Remaining is ${remaining}`, named);
  must(Number(reset) % 60 === 0, `X-RateLimit-Reset is ${reset}, not the end of a minute`, named);
}

/** As many requests at the same time; returns their answers and how long they took. */
async function round({ session }: Context): Promise<{ replies: readonly Reply[]; ms: number }> {
  const token = await session.token();
  const startMs = performance.now();
  const one = () => send(`${session.baseUrl}/me`, "GET", { token });
  const replies = await Promise.all(Array.from({ length: roundRequests }, one));
  return { replies, ms: performance.now() - startMs };
}

/** Sends requests over a number of connections, each one after the other; returns the answers. */
async function flood({ session }: Context): Promise<readonly Reply[]> {
  const token = await session.token();
  const replies: Reply[] = [];
  let begun = 0;
  const connection = async () => {
    while (begun < planRequests) {
      begun += 1;
      replies.push(await send(`${session.baseUrl}/me`, "GET", { token }));
    }
  };
  await Promise.all(Array.from({ length: planConnections }, connection));
  return replies;
}

/** Checks of the limits: of an application, which functions count, and of the usage plan in front of them. */
export const limitChecks: readonly Check[] = [
  {
    name: "rate",
    title: "an application has 50 requests a second; others answer 429 with Retry-After",
    async run(context) {
      await rateHeaders(context);
      let fastestMs = Number.POSITIVE_INFINITY;
      for (let tried = 0; tried < rounds; tried += 1) {
        const { replies, ms } = await round(context);
        fastestMs = Math.min(fastestMs, ms);
        const refused = replies.find(({ status }) => status === 429);
        if (refused === undefined) continue;
        const named = [functionOf("get_me"), resources.volatileTable];
        mustBeProblem("GET /me", refused, { status: 429, code: "rate_limit_exceeded", named });
        const wait = Number(refused.headers.get("retry-after") ?? Number.NaN);
        must(wait >= 1, `A 429 has the header Retry-After: ${refused.headers.get("retry-after")}`, named);
        return undefined;
      }
      // Two clock seconds may share a round, but not one that is done within less than half of a second.
      const isCertain = fastestMs < 400;
      const said = `${roundRequests} requests within ${Math.round(fastestMs)} ms are all answered`;
      if (!isCertain) throw new Unseen(`${said}: too slow to exceed ${perSecond} in one second`);
      must(false, said, [functionOf("get_me"), resources.volatileTable]);
    },
  },
  {
    name: "plan",
    title: "the usage plan throttles in front of the functions",
    slow: true,
    async run(context) {
      const startMs = performance.now();
      const replies = await flood(context);
      const seconds = (performance.now() - startMs) / 1000;
      // A refusal by a function has the headers of its count.
      const throttled = replies.filter(({ status, headers }) => status === 429 && !headers.has("x-ratelimit-limit"));
      const named = [resources.plan, gatewayResponse("THROTTLED"), functionOf("authorize")];
      const [first] = throttled;
      const most = planBurst + planPerSecond * seconds;
      const said = `${replies.length} requests within ${seconds.toFixed(1)} s`;
      if (first === undefined) {
        if (replies.length < most * planTolerance) throw new Unseen(`${said}: too slow to exceed the plan`);
        must(false, `${said} are not throttled, where the plan allows ${Math.round(most)}; repeat it once`, named);
      }
      const headers = { "retry-after": "1" };
      mustBeProblem("GET /me", first, { status: 429, code: "rate_limit_exceeded", headers, named });
      return `${throttled.length} of ${said}`;
    },
  },
];
