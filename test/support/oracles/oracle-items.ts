import { currencyCodes } from "../../../shared/currencies.ts";
import { groupBy, numberText, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";
import { isReturn, tenantOf } from "./oracle-terms.ts";

const tenantKey = /^(brk_[0-9A-HJKMNP-TV-Z]{26})(?:$|[#|])/;

const globalKeys = [/^GLOBAL\|CLIENTID$/, /^GLOBAL\|KEYS$/, /^GLOBAL\|USAGE$/];

/** Eight shards of a kind; 64 of those that every commit, event or delivery is in. */
const dueKey = /^DUE\|(?:[A-Z]+\|0[0-7]|(?:OUTBOX|EVENT|DLV)\|(?:[0-5][0-9]|6[0-3]))$/;

/** No key outside its tenant (but the few without an owner), and no item that names two tenants. */
export function judgeKeys(items: readonly RawItem[]): string[] {
  return items.flatMap((item) => {
    const key = text(item, "pk");
    const tenant = tenantKey.exec(key)?.[1];
    if (tenant === undefined) return globalKeys.some((each) => each.test(key)) ? [] : [`${key} belongs to no tenant`];
    const indexKeys = ["list_pk", "state_pk", "owner_pk", "client_pk"].flatMap((name) => {
      const value = item[name];
      return typeof value !== "string" || tenantKey.exec(value)?.[1] === tenant ? [] : [`${key} is listed in ${value}`];
    });
    const due = item["due_pk"];
    const owner = item["tenant_id"];
    const strangers = [...JSON.stringify(item).matchAll(/brk_[0-9A-Z]{26}/g)].filter(([found]) => found !== tenant);
    return [
      ...indexKeys,
      ...(due === undefined || dueKey.test(String(due)) ? [] : [`${key} is due in ${String(due)}`]),
      ...(owner === undefined || owner === tenant ? [] : [`${key} is owned by ${String(owner)}`]),
      ...(strangers.length === 0 ? [] : [`${key} names another tenant, ${strangers[0]?.[0]}`]),
    ];
  });
}

const bound = 10n ** 18n;

/** Money is stored as whole numbers within bounds, with every digit. */
export function judgeAmounts(items: readonly RawItem[]): string[] {
  return items.flatMap((item) =>
    Object.entries(item).flatMap(([name, value]) => {
      if (!name.endsWith("_minor") || value === null) return [];
      const place = `${text(item, "pk")} ${text(item, "sk")} ${name}`;
      const digits = numberText(value);
      if (digits === undefined || !/^-?\d{1,19}$/.test(digits)) return [`${place} is ${JSON.stringify(value)}`];
      return BigInt(digits) > bound || BigInt(digits) < -bound ? [`${place} is out of bounds`] : [];
    }),
  );
}

const currencies: ReadonlySet<string> = new Set(currencyCodes);

/** A tenant with accounts has one set of policies that can be followed. */
export function judgeTenants(items: readonly RawItem[]): string[] {
  const tenants = ofType(items, "TENANT");
  const known = new Set(tenants.map((item) => text(item, "pk")));
  const missing = new Set(
    ofType(items, "ACCOUNT")
      .map(tenantOf)
      .filter((id) => !known.has(id)),
  );
  return [
    ...[...missing].map((id) => `${id} has accounts and no policies`),
    ...tenants.flatMap((item) => {
      const allowed = item["currencies"];
      const names = Array.isArray(allowed) ? allowed : [];
      const [leverage, days] = [whole(item, "default_leverage"), whole(item, "transaction_expiry_days")];
      const fits =
        text(item, "sk") === "TENANT" &&
        text(item, "id") === text(item, "pk") &&
        typeof item["four_eyes"] === "boolean" &&
        ["none", "withdrawal", "live_account"].includes(text(item, "require_verified_client")) &&
        names.length > 0 &&
        new Set(names).size === names.length &&
        names.every((name) => currencies.has(String(name))) &&
        leverage >= 1n &&
        leverage <= 1000n &&
        days >= 1n &&
        days <= 90n &&
        whole(item, "version") >= 1n;
      return fits ? [] : [`${text(item, "pk")} has policies that cannot be followed`];
    }),
  ];
}

/** A client counts its accounts, and those that are not closed; who is closed has none of these. */
export function judgeClients(items: readonly RawItem[]): string[] {
  const accounts = groupBy(ofType(items, "ACCOUNT"), (item) => text(item, "client_id"));
  const reversed = new Set(
    ofType(items, "LEDGER")
      .filter(isReturn)
      .map((item) => text(item, "account_id")),
  );
  const known = new Set(ofType(items, "CLIENT").map((item) => text(item, "id")));
  const strays = [...accounts.keys()].filter((id) => !known.has(id)).map((id) => `${id} has accounts and is not there`);
  const counts = ofType(items, "CLIENT").flatMap((client) => {
    const id = text(client, "id");
    const own = accounts.get(id) ?? [];
    const open = own.filter((item) => text(item, "status") !== "closed");
    const about = (sentence: string | false) => (sentence === false ? [] : [`${id}: ${sentence}`]);
    return [
      ...about(whole(client, "account_count") !== BigInt(own.length) && "counts its accounts wrongly"),
      ...about(whole(client, "open_accounts") !== BigInt(open.length) && "counts its open accounts wrongly"),
      // Money that comes back opens a closed account again, whatever its client is by then.
      ...about(
        text(client, "status") === "closed" &&
          open.some((item) => !reversed.has(text(item, "id"))) &&
          "is closed and has open accounts",
      ),
    ];
  });
  return [...strays, ...counts];
}
