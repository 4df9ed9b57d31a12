import { ref } from "../../shared/data/store.ts";
import { balanceBody } from "../../shared/domain/amend-account.ts";
import { read } from "../../shared/http/operations.ts";
import { getBalance } from "../../shared/routes/accounts.ts";

/** `GET /accounts/{id}/balance` */
export const handler = read(getBalance, async ({ path, load }) => {
  const id = path["id"] ?? "";
  const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
  return account && balance && balanceBody({ account, balance });
});
