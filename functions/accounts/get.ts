import { ref } from "../../shared/data/store.ts";
import { accountBody } from "../../shared/domain/account.ts";
import { read } from "../../shared/http/operations.ts";
import { getAccount } from "../../shared/routes/accounts.ts";

/** `GET /accounts/{id}` */
export const handler = read(getAccount, async ({ path, load }) => {
  const id = path["id"] ?? "";
  const { account, balance } = await load({ account: ref.account(id), balance: ref.balance(id) });
  return account && balance && accountBody(account, balance);
});
