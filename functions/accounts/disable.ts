import { pendingCommandsOf } from "../../shared/domain/accounts/account.ts";
import { disableAccount } from "../../shared/domain/accounts/amend-account.ts";
import { amendOnPlatform } from "../../shared/domain/feed/command/terms.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { liveBody } from "../../shared/domain/trading/amend-holdings.ts";
import { command } from "../../shared/http/operations.ts";
import { shownLive } from "../../shared/money/decide.ts";
import { disableAccount as row } from "../../shared/routes/accounts.ts";
import { ref } from "../../shared/table/store.ts";
import { loadCommands, tradingRef } from "../../shared/trading/items.ts";

/** `DELETE /accounts/{id}` */
export const handler = await command(
  row,
  async ({ path, load, context, expectVersion }) => {
    const { id } = path;
    const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
    if (!account || !balance) return notFound();
    expectVersion(account.version);
    const { source_id } = account;
    const [asked, { source }] = await Promise.all([
      loadCommands(load, pendingCommandsOf(account)),
      load({ ...(source_id ? { source: tradingRef.feedSource(source_id) } : {}) }),
    ]);
    const disable = () => disableAccount({ account, balance }, context);
    return shownLive(context, amendOnPlatform({ account, source, asked }, { status: "disabled" }, context, disable));
  },
  liveBody,
);
