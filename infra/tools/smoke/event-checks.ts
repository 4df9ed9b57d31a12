import type { Json } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { Finding, must } from "./finding.ts";
import { functionOf, resources, roleOf } from "./resources.ts";
import { within } from "./session.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

/** Events of a client, an account and a completed deposit, in this order. */
const announced = ["client.created", "account.created", "transaction.created", "transaction.completed"];

const rungSeconds = 60;
/** A rung may be longer by a tenth, and a queue wakes its function within seconds. */
const rungSlackMs = 15_000;
/** A schedule of a minute, and the work of the functions that it invokes. */
const scheduleMs = 150_000;

const publishing = [
  resources.routeStream,
  functionOf("route"),
  resources.publishQueue,
  functionOf("publish"),
  roleOf("publish"),
];
const delivering = [resources.deliverQueue, resources.deliverUnproven, functionOf("deliver"), roleOf("deliver")];

/** The events of the client, the account and the deposit, as soon as they are all there. */
async function eventsOf({ session, story, options }: Context): Promise<readonly Json[]> {
  const { client, account } = await story.open();
  const deposit = await story.deposit();
  let found: Json[] = [];
  const look = async () => {
    const read = [client, account, deposit].map(async ({ id }) => {
      const path = `/events?resource_id=${id}`;
      return (await session.expect(200, "GET", path, [roleOf("list_events"), functionOf("list_events")])).body.data;
    });
    found = (await Promise.all(read)).flat().sort((one, other) => Number(one.sequence) - Number(other.sequence));
    return announced.every((type) => found.some((event) => event.type === type)) ? found : undefined;
  };
  const late = () => {
    const types = found.map(({ type }) => type).join(", ") || "none";
    return new Finding(`Of the events ${announced.join(", ")} GET /events shows ${types}`, publishing);
  };
  return await within(options.patienceMs, look, late);
}

/** The deliveries of an endpoint, newest first, without their attempts. */
async function deliveriesOf({ session }: Context, endpoint: string): Promise<readonly Json[]> {
  const named = [roleOf("list_deliveries"), functionOf("list_deliveries")];
  return (await session.expect(200, "GET", `/webhook_endpoints/${endpoint}/deliveries`, named)).body.data;
}

async function deliveryOf({ session }: Context, id: string): Promise<Json> {
  return (await session.expect(200, "GET", `/deliveries/${id}`, [functionOf("get_delivery")])).body;
}

/** Changes the client, which announces `client.updated`. */
async function changeClient({ session, story }: Context): Promise<void> {
  const { client } = await story.open();
  const body = { metadata: { smoke: String(Date.now()) } };
  await session.expect(200, "PATCH", `/clients/${client.id}`, [functionOf("update_client")], { body });
}

/** Delivers to a receiver of this machine and verifies the signature; returns what was seen. */
async function deliverHere(context: Context, receiver: WebhookReceiver): Promise<string> {
  const { story, options } = context;
  await story.open();
  const { secret } = await story.endpoint(receiver.url, ["client.updated"]);
  receiver.expectSecret(secret);
  await changeClient(context);
  const late = () => new Finding(`No webhook arrived within ${options.patienceMs / 1000} s`, delivering);
  const arrival = await within(options.patienceMs, async () => receiver.arrivals[0], late, 50);
  const named = [functionOf("deliver"), roleOf("deliver")];
  must(arrival.signature === "good", `The webhook is signed wrongly: ${arrival.signature}`, named);
  must(arrival.type === "client.updated", `The webhook is about ${arrival.type}`, named);
  return "to a receiver on this machine, signature verified";
}

/** Delivers to a public address, or to the API itself, which answers 405; returns what was seen. */
async function deliverThere(context: Context, receiver: string | undefined): Promise<string> {
  const { story, session, options } = context;
  await story.open();
  const { id } = await story.endpoint(receiver ?? `${session.baseUrl}/health`, ["client.updated"]);
  await changeClient(context);
  const look = async () => {
    const [delivery] = await deliveriesOf(context, id);
    const attempts = delivery === undefined ? [] : (await deliveryOf(context, delivery.id)).attempts;
    return attempts?.[0];
  };
  const late = () => new Finding(`No webhook was sent within ${options.patienceMs / 1000} s`, delivering);
  const { http_status, error } = await within(options.patienceMs, look, late);
  const expected = receiver === undefined ? 405 : 200;
  const isExpected = receiver === undefined ? http_status === expected : http_status >= 200 && http_status < 300;
  must(isExpected, `The attempt ended with ${http_status ?? error} instead of ${expected}`, delivering);
  return receiver === undefined ? "posted to the API itself, which answers 405" : `accepted by ${receiver}`;
}

/** Checks of the way from a commit to a receiver, and of what schedules do. */
export const eventChecks: readonly Check[] = [
  {
    name: "events",
    title: "commits become numbered events through the stream",
    async run(context) {
      const events = await eventsOf(context);
      const order = events.filter(({ type }) => announced.includes(type)).map(({ type }) => type);
      must(order.join() === announced.join(), `The events are numbered in the order ${order.join(", ")}`, publishing);
      return `numbers ${events[0].sequence} to ${events.at(-1).sequence}`;
    },
  },
  {
    name: "webhook",
    title: "an event is posted to a webhook endpoint",
    async run(context) {
      const { options, isLocal } = context;
      if (options.receiver !== undefined || !isLocal) return await deliverThere(context, options.receiver);
      const receiver = await startWebhookReceiver();
      try {
        return await deliverHere(context, receiver);
      } finally {
        await receiver.stop();
      }
    },
  },
  {
    name: "ladder",
    title: "a delivery that failed is tried again after a minute",
    slow: true,
    async run(context) {
      const { session, story, options } = context;
      await story.open();
      // The path has no POST, so each attempt fails by 405.
      const { id } = await story.endpoint(`${session.baseUrl}/health`, ["client.updated"]);
      await changeClient(context);
      const rungMs = (rungSeconds * 1000) / options.timeScale;
      const named = [resources.retryQueue, resources.retryMapping, functionOf("deliver"), roleOf("deliver")];
      const look = async () => {
        const delivery = (await deliveriesOf(context, id)).at(-1);
        if (delivery === undefined) return undefined;
        const { attempts = [] } = await deliveryOf(context, delivery.id);
        return attempts.length > 1 ? attempts : undefined;
      };
      const limitMs = options.patienceMs + rungMs * 1.1 + rungSlackMs;
      const late = () => new Finding(`There is no second attempt after ${Math.round(limitMs / 1000)} s`, named);
      const [first, second] = await within(limitMs, look, late, 1000);
      const apartMs = Date.parse(second.at) - Date.parse(first.at);
      must(apartMs >= rungMs - 1000, `The second attempt came ${apartMs} ms after the first`, named);
      return `after ${(apartMs / 1000).toFixed(1)} s`;
    },
  },
  {
    name: "schedule",
    title: "a schedule invokes its function: the sandbox's provider declines a deposit",
    slow: true,
    sandbox: true,
    async run({ session, story, options }) {
      const { account } = await story.open();
      // The provider of the sandbox declines what ends in 13 cents, when its schedule invokes it.
      const body = { account_id: account.id, amount: "1.13", provider: "sandbox" };
      const forDeposit = [functionOf("create_deposit")];
      const { id } = (await session.expect(201, "POST", "/transactions/deposit", forDeposit, { body })).body;
      const startMs = performance.now();
      const named = [
        resources.providerSchedule,
        resources.scheduleRole,
        functionOf("sandbox-simulate-provider"),
        roleOf("sandbox-simulate-provider"),
      ];
      const look = async () => {
        const reply = await session.expect(200, "GET", `/transactions/${id}`, [functionOf("get_transaction")]);
        return reply.body.status === "failed" ? true : undefined;
      };
      const limitMs = scheduleMs / options.timeScale + options.patienceMs;
      const late = () => new Finding(`The deposit ${id} is not declined after ${limitMs / 1000} s`, named);
      await within(limitMs, look, late, 1000);
      return `after ${Math.round((performance.now() - startMs) / 1000)} s`;
    },
  },
];
