import { pendingCommandsOf } from "../../shared/domain/accounts/account.ts";
import { amendAccount } from "../../shared/domain/accounts/amend-account.ts";
import { namesTerms } from "../../shared/domain/feed/command/terms.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { liveBody } from "../../shared/domain/trading/amend-holdings.ts";
import { openCorrectionsOf } from "../../shared/feed/unjoined-legs.ts";
import { command } from "../../shared/http/operations.ts";
import { decideAmendment, readValuedAccount } from "../../shared/money/decide.ts";
import { updateAccount } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { loadCommands, tradingRef } from "../../shared/trading/items.ts";

/** `PATCH /accounts/{id}` */
export const handler = await command(
  updateAccount,
  async ({ path, body, load, context, expectVersion }) => {
    const { id } = path;
    const own = { account: ref.account(id), balance: ref.balance(id), risk: tradingRef.risk(id) };
    const { account, balance, risk } = await load(own);
    if (!account || !balance) return notFound();
    expectVersion(account.version);
    const relinks = body.source_id !== undefined || body.platform_login !== undefined;
    const terms = namesTerms(body);
    const sourceId = body.source_id ?? (terms ? account.source_id : undefined);
    const [{ client, source, tenant }, asked, held, corrections] = await Promise.all([
      load({
        client: ref.client(account.client_id),
        tenant: ref.tenant(),
        ...(sourceId ? { source: tradingRef.feedSource(sourceId) } : {}),
      }),
      terms ? loadCommands(load, pendingCommandsOf(account)) : [],
      readValuedAccount(load, context, { account, balance, risk }),
      relinks ? openCorrectionsOf(context.tenant_id, id) : [],
    ]);
    if (!client) return notFound();
    const owned = { account, balance, client, source, corrections, asked, tenant };
    return decideAmendment(held, context, owned, body, amendAccount);
  },
  liveBody,
);
