import { routes } from "../../../shared/routes/index.ts";
import type { Json } from "../api-call.ts";
import type { Check, Context } from "./check.ts";
import { Finding, must } from "./finding.ts";
import { functionOf, resources, roleOf } from "./resources.ts";
import { replyText, within } from "./session.ts";
import { depositAmount } from "./story.ts";

/** Every list of the API that needs no parameter in its path. */
function listRoutes(stage: string) {
  return routes.filter(
    ({ method, path, query, stages, id }) =>
      method === "GET" &&
      !path.includes("{") &&
      stages.some((each) => each === stage) &&
      query !== undefined &&
      "limit" in (query as unknown as { readonly shape: object }).shape &&
      // It asks for a filter.
      id !== "list_margin_watch",
  );
}

/** Waits until a list, whose index may be behind, shows an item. */
async function mustList({ session, options }: Context, id: string, path: string, item: string): Promise<void> {
  const named = [roleOf(id), functionOf(id), resources.mainTable];
  const look = async () => {
    const { body } = await session.expect(200, "GET", path, named);
    return body.data.some((each: Json) => each.id === item || each.transaction_id === item) ? true : undefined;
  };
  const late = () => new Finding(`GET ${path} does not show ${item}`, named);
  await within(options.patienceMs, look, late);
}

/** Checks of money and of reading it. */
export const moneyChecks: readonly Check[] = [
  {
    name: "deposit",
    title: "a deposit is completed by a role that may not change the ledger",
    async run(context) {
      const { session, story } = context;
      const { account } = await story.open();
      const deposit = await story.deposit();
      const named = [roleOf("update_transaction"), resources.mainTable];
      must(deposit.balance_after === depositAmount, `The balance after it is ${deposit.balance_after}`, named);
      const path = `/accounts/${account.id}`;
      const forBalance = [functionOf("get_account"), roleOf("get_account")];
      const { body } = await session.expect(200, "GET", path, forBalance);
      must(body.balance === depositAmount, `GET ${path} shows the balance ${body.balance}`, forBalance);
      await mustList(context, "list_ledger", `${path}/ledger`, deposit.id);
      return undefined;
    },
  },
  {
    name: "idempotency",
    title: "a request that is repeated with its key is executed once",
    async run({ session, story }) {
      const { account } = await story.open();
      const named = [functionOf("create_deposit"), roleOf("create_deposit")];
      const sent = {
        headers: { "Idempotency-Key": `smoke-${account.id}` },
        body: { account_id: account.id, amount: "1.00" },
      };
      const first = await session.expect(201, "POST", "/transactions/deposit", named, sent);
      const second = await session.expect(201, "POST", "/transactions/deposit", named, sent);
      must(first.text === second.text, `The repetition made ${second.body?.id}, not ${first.body?.id}`, named);
      const replayed = second.headers.get("idempotent-replayed");
      must(replayed === "true", `The repetition has the header Idempotent-Replayed: ${replayed}`, named);
      await session.expect(200, "PATCH", `/transactions/${first.body.id}`, [roleOf("update_transaction")], {
        body: { status: "cancelled" },
      });
      return undefined;
    },
  },
  {
    name: "conditional",
    title: "a resource is answered 304 when its ETag is known",
    async run({ session, story }) {
      const { client } = await story.open();
      const named = [functionOf("get_client"), resources.api];
      const path = `/clients/${client.id}`;
      const etag = (await session.expect(200, "GET", path, named)).headers.get("etag");
      must(etag !== null, `GET ${path} has no ETag`, named);
      const reply = await session.call("GET", path, { headers: { "If-None-Match": etag } });
      must(reply.status === 304, `GET ${path} with its ETag answered ${replyText(reply)}`, named);
      return undefined;
    },
  },
  {
    name: "lists",
    title: "every list is read through the conditions on leading keys",
    async run(context) {
      const { session, story } = context;
      const { client, account } = await story.open();
      const deposit = await story.deposit();
      const { body: health } = await session.expect(200, "GET", "/health", [functionOf("get_health")]);
      const listed = listRoutes(health.environment);
      for (const { id, path } of listed) {
        const named = [roleOf(id), functionOf(id), resources.mainTable];
        const { body } = await session.expect(200, "GET", `${path}?limit=1`, named);
        must(Array.isArray(body?.data), `GET ${path} is not a list`, named);
      }
      await mustList(context, "list_clients", "/clients?limit=100", client.id);
      await mustList(context, "list_accounts", `/accounts?number=${account.number}`, account.id);
      await mustList(context, "list_client_accounts", `/clients/${client.id}/accounts`, account.id);
      await mustList(context, "list_transactions", "/transactions?limit=100", deposit.id);
      await mustList(context, "list_account_transactions", `/accounts/${account.id}/transactions`, deposit.id);
      return `${listed.length} lists`;
    },
  },
];
