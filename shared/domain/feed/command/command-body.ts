import type { CommandBody } from "../../../schema/feed/command.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { CorrectionCommand, PlatformCommand, TransactionCommand } from "../../records/command.ts";
import { isCorrection } from "./command.ts";

/** The command as the API shows it. */
export function commandBody(command: PlatformCommand): CommandBody {
  const source = `/v2/feed/sources/${command.source_id}`;
  const { transaction_id: transaction, drift_id: drift } = command;
  return {
    ...shownFields(command),
    object: "command",
    _links: {
      self: { href: `${source}/commands/${command.id}` },
      source: { href: source },
      account: { href: `/v2/accounts/${command.account_id}` },
      ...(transaction === null ? {} : { transaction: { href: `/v2/transactions/${transaction}` } }),
      ...(drift === null ? {} : { drift: { href: `/v2/drift/${drift}` } }),
      ...(command.type === "liquidate" ? { trade: { href: `/v2/trades/${command.trade_id}` } } : {}),
    },
  };
}

type ShownFields = Omit<CommandBody, "object" | "_links">;

function shownFields(command: PlatformCommand): ShownFields {
  if (command.purpose === "terms") {
    const { tenant_id: _tenant, client_id: _client, purpose: _purpose, superseded: _superseded, ...fields } = command;
    return fields;
  }
  if (command.purpose === "liquidation") {
    const { tenant_id: _tenant, client_id: _client, purpose: _purpose, trade_id: _trade, ...fields } = command;
    return fields;
  }
  if (isCorrection(command)) {
    const { issued_by: _by, feed_seq: _seq, ...shown } = command;
    return withPayload(shown);
  }
  const { transfer: _transfer, ...shown } = command;
  return withPayload(shown);
}

/** Of each kind of command what is left without the members that are stored only. */
type Shown<C> = C extends unknown ? Omit<C, "issued_by" | "feed_seq"> : never;

function withPayload(command: Omit<TransactionCommand, "transfer"> | Shown<CorrectionCommand>): ShownFields {
  const { tenant_id: _tenant, client_id: _client, purpose: _purpose, searches: _searches, ...shown } = command;
  const { search_again_at: _again, amount_minor, currency, about_id, ...fields } = shown;
  const payload = { amount: formatAmount(amount_minor, currency), currency, comment: about_id ?? command.id };
  return { ...fields, payload };
}
