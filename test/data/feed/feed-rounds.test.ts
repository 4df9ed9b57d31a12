import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { inCommitOrder } from "../../../shared/events/publish.ts";
import { limits } from "../../../shared/limits.ts";
import { risks } from "../../../shared/table/entities.ts";
import { type BridgeItem, closing, moneyMoved, opening, reversal } from "../../support/builders/bridge.ts";
import { cancelled, type TableCall } from "../../support/emulator/watched-endpoint.ts";
import { api, broker, call, caller, newSource, outboxesOf, trader } from "./feed-cases.ts";

const statuses = (results: readonly { readonly status: string }[]) => results.map(({ status }) => status);

const balanceOf = async (account: { readonly id: string }) =>
  (await broker.get(`/accounts/${account.id}/balance`)).balance;

/** How often each operation was called. */
function countOf(calls: readonly TableCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { operation } of calls) counts[operation] = (counts[operation] ?? 0) + 1;
  return counts;
}

/** Sends each item as a batch of its own. */
async function inTurn(source: Awaited<ReturnType<typeof newSource>>, items: readonly BridgeItem[]) {
  const results = [];
  for (const item of items) results.push(...(await source.send(item)));
  return results;
}

const membersOf = ({ input }: TableCall) => (input["TransactItems"] as object[]).length;

describe("a batch of several accounts", () => {
  it("is read in common and committed by few transactions, whatever the number of its items", async () => {
    const accounts = [];
    for (let count = 0; count < 6; count += 1) accounts.push(await trader());
    const source = await newSource();
    await source.send(...accounts.map(({ login }, at) => opening(login, `D-${at}`, `P-${at}`)));
    api.watched.takeCalls();
    const results = await source.send(
      ...accounts.flatMap(({ login }, at) => [
        opening(login, `E-${at}`, `Q-${at}`, { lots: "0.10" }),
        closing(`C-${at}`, `P-${at}`, { lots: "0.50" }),
      ]),
    );
    const calls = api.watched.takeCalls();
    expect(new Set(statuses(results))).toEqual(new Set(["applied"]));
    const counts = countOf(calls);
    // Twelve items took four reads of items, a query of positions and a transaction each, one by one.
    expect(counts["Query"]).toBeUndefined();
    expect(counts["TransactWriteItems"]).toBeLessThanOrEqual(3);
    expect(counts["BatchGetItem"]).toBeLessThanOrEqual(8);
  });

  it("asks for the positions of an account again that others changed since its last batch", async () => {
    const account = await trader();
    const source = await newSource();
    await source.send(opening(account.login, "D-1", "P-1", { commission: "0" }));
    await broker.deposit(account, "5.00", { status: "completed" });
    await call("PATCH", `/accounts/${account.id}`, { leverage: 50 });
    api.watched.takeCalls();
    const [closed] = await source.send(closing("D-2", "P-1", { profit: "1.00", commission: "0", lots: "0.40" }));
    expect(closed.status).toBe("applied");
    const calls = countOf(api.watched.takeCalls());
    expect([calls["Query"], calls["TransactWriteItems"]]).toEqual([1, 1]);
    expect(await balanceOf(account)).toBe("10006.00");
  });

  it("commits several deals of one account at once, and with them what follows from one of them", async () => {
    const account = await trader();
    const source = await newSource();
    api.watched.takeCalls();
    const results = await source.send(
      opening(account.login, "D-1", "P-1", { commission: "0" }),
      opening(account.login, "D-2", "P-2", { commission: "0" }),
      opening(account.login, "D-1", "P-1", { commission: "0" }),
      closing("D-3", "P-1", { profit: "340.00", commission: "0" }),
      closing("D-4", "P-2", { profit: "-40.00", commission: "0" }),
    );
    expect(countOf(api.watched.takeCalls())["TransactWriteItems"]).toBe(1);
    expect(statuses(results)).toEqual(["applied", "applied", "duplicate", "applied", "applied"]);
    expect(results[2].trade_id).toBe(results[0].trade_id);
    expect(await balanceOf(account)).toBe("10300.00");
  });

  it("announces deals next to their own trade, and those of one trade together in their order", async () => {
    const account = await trader();
    const source = await newSource();
    await source.send(opening(account.login, "D-1", "P-1"));
    const before = new Set((await outboxesOf()).map(({ id }) => id));
    await source.send(
      closing("D-2", "P-1"),
      opening(account.login, "D-3", "P-3"),
      opening(account.login, "D-5", "P-5"),
      closing("D-6", "P-5"),
    );
    const own = inCommitOrder((await outboxesOf()).filter(({ id }) => !before.has(id)).toReversed());
    const announced = own.map(({ root_id, events }) =>
      events.map((text) => {
        const { type, resource } = JSON.parse(text).body;
        return { type, version: resource.version, isOwn: resource.id === root_id };
      }),
    );
    expect(announced).toEqual([
      [{ type: "trade.closed", version: 2, isOwn: true }],
      [{ type: "trade.opened", version: 1, isOwn: true }],
      [
        { type: "trade.opened", version: 1, isOwn: true },
        { type: "trade.closed", version: 2, isOwn: true },
      ],
    ]);
  });

  it("leaves of a trade that it changes several times what the same items leave one by one", async () => {
    const [together, alone] = [await trader(), await trader()];
    const source = await newSource();
    const itemsOf = ({ login }: typeof alone, name: string) => [
      opening(login, `${name}-1`, `P-${name}`, { commission: "0" }),
      closing(`${name}-2`, `P-${name}`, { lots: "0.40", profit: "7.00", commission: "0" }),
      moneyMoved(login, `${name}-3`, "fee", "-2.00"),
      closing(`${name}-4`, `P-${name}`, { profit: "9.00", commission: "0" }),
      reversal(login, `${name}-5`, `${name}-4`),
      closing(`${name}-6`, `P-${name}`, { profit: "-4.00", commission: "0" }),
    ];
    api.watched.takeCalls();
    const made = await source.send(...itemsOf(together, "T"));
    expect(statuses(made)).toEqual(itemsOf(together, "T").map(() => "applied"));
    expect(countOf(api.watched.takeCalls())["TransactWriteItems"]).toBe(1);
    const single = await inTurn(source, itemsOf(alone, "A"));
    const tradeOf = async ([{ trade_id }]: typeof made) => {
      const { status, lots, version, net_pnl, close_reason } = await broker.get(`/trades/${trade_id}`);
      return { status, lots, version, net_pnl, close_reason };
    };
    expect(await tradeOf(made)).toEqual(await tradeOf(single));
    expect((await tradeOf(made)).version).toBe(5);
    expect([await balanceOf(together), await balanceOf(alone)]).toEqual(["10001.00", "10001.00"]);
  });

  it("asks what money could be that of while it reads prices", async () => {
    const account = await trader();
    const source = await newSource();
    await source.send(opening(account.login, "D-1", "P-1"));
    let isAsked = (_: undefined) => {};
    const asked = new Promise<undefined>((resolve) => {
      isAsked = resolve;
    });
    api.watched.interfere = ({ operation, input }) => {
      if (operation === "Query" && JSON.stringify(input).includes("|LEG")) isAsked(undefined);
      return JSON.stringify(input).includes('"QUOTE"') ? asked : undefined;
    };
    const [booked] = await source.send(moneyMoved(account.login, "B-1", "fee", "-2.00"));
    expect(booked.status).toBe("applied");
  });

  it("goes on one by one where the accounts cannot be read in common", async () => {
    const [sound, broken] = [await trader(), await trader()];
    const source = await newSource();
    await source.send(opening(sound.login, "D-1", "P-1"), opening(broken.login, "D-2", "P-2"));
    const Key = { pk: { S: risks.key(caller.tenant_id, broken.id).pk }, sk: { S: "RISK" } };
    const version = (v: string) =>
      api.emulator.client.send(
        new UpdateItemCommand({
          ...{ TableName: api.emulator.tableName, Key, UpdateExpression: "SET v = :v" },
          ExpressionAttributeValues: { ":v": { N: v } },
        }),
      );
    await version("99");
    const results = await source.send(closing("D-3", "P-1"), closing("D-4", "P-2"));
    expect(statuses(results)).toEqual(["applied", "deferred"]);
    const named = [opening(sound.login, "D-5", "P-5"), opening(broken.login, "D-6", "P-6")];
    const numbered = [closing("D-4", "P-2"), ...named].map((item, at) => ({ seq: String(at + 4), ...item }));
    const again = await source.raw({ first_seq: "4", items: numbered });
    expect(statuses(again.body.results)).toEqual(["deferred", "applied", "deferred"]);
    await version("1");
  });

  it("takes a deal back that it applies, by the same reads", async () => {
    const account = await trader();
    const source = await newSource();
    await source.send(opening(account.login, "D-1", "P-1", { commission: "0" }));
    api.watched.takeCalls();
    const results = await source.send(
      opening(account.login, "D-2", "P-2"),
      reversal(account.login, "R-2", "D-2"),
      closing("D-3", "P-1", { profit: "10.00", commission: "0" }),
      reversal(account.login, "R-3", "D-3"),
      closing("D-4", "P-1", { profit: "7.00", commission: "0" }),
    );
    const calls = countOf(api.watched.takeCalls());
    expect(statuses(results)).toEqual(["applied", "applied", "applied", "applied", "applied"]);
    expect(calls["Query"]).toBeUndefined();
    expect(calls["BatchGetItem"]).toBeLessThanOrEqual(6);
    expect(await balanceOf(account)).toBe("10007.00");
  });

  it("takes a deal back whose loss was settled, in the batch of the deal as in a later one", async () => {
    const ends = [];
    for (const together of [true, false]) {
      const account = await trader("10.00");
      const source = await newSource({ authoritative: "service" });
      const items = [
        opening(account.login, "D-1", "P-1", { lots: "0.01", commission: "0" }),
        closing("D-2", "P-1", { profit: "-25.00", commission: "0" }),
        reversal(account.login, "R-2", "D-2"),
      ];
      const sent = together ? await source.send(...items) : await inTurn(source, items);
      ends.push([statuses(sent), await balanceOf(account)]);
    }
    expect(ends[0]).toEqual(ends[1]);
    expect(ends[0]).toEqual([["applied", "applied", "applied"], "10.00"]);
  });

  it("answers that a deal contradicts itself where its second item names no account, as in two batches", async () => {
    const account = await trader();
    const source = await newSource();
    api.watched.interfere = async ({ operation, input }) => {
      const isDeal = operation === "TransactWriteItems" && JSON.stringify(input).includes(account.id);
      if (isDeal) await new Promise((resolve) => setImmediate(resolve));
      return undefined;
    };
    const results = await source.send(opening(account.login, "D-1", "P-1"), opening("99999999", "D-1", "P-1"));
    expect(statuses(results)).toEqual(["applied", "rejected"]);
    expect(await source.rejects()).toMatchObject([{ code: "deal_conflict" }]);
  });

  it("answers 503 by few calls where the table does not answer its reads", async () => {
    const accounts = [];
    for (let count = 0; count < 6; count += 1) accounts.push(await trader());
    const source = await newSource();
    await source.send(...accounts.map(({ login }, at) => opening(login, `D-${at}`, `P-${at}`)));
    api.watched.takeCalls();
    const __type = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    api.watched.interfere = ({ operation, input }) => {
      const refused = operation === "BatchGetItem" && JSON.stringify(input).includes("RISK");
      return refused ? { status: 400, body: { __type, message: "Too many." } } : undefined;
    };
    const items = accounts.map(({ login }, at) => ({ seq: String(at + 7), ...opening(login, `E-${at}`, `Q-${at}`) }));
    expect((await source.raw({ first_seq: "7", items })).status).toBe(503);
    // The request is tried again as often as any other.
    expect(countOf(api.watched.takeCalls())["BatchGetItem"]).toBeLessThanOrEqual(2 + limits.calls.attempts);
  });

  it("books what a login reports on the account that has it now, whatever it meant in an earlier batch", async () => {
    const [former, later] = [await trader(), await trader()];
    const source = await newSource();
    await source.send(moneyMoved(former.login, "B-1", "deposit", "1.00"));
    await source.send(moneyMoved(former.login, "B-2", "deposit", "1.00"));
    await call("PATCH", `/accounts/${former.id}`, { platform_login: null });
    const moved = await call("PATCH", `/accounts/${later.id}`, { platform_login: former.login });
    expect(moved.status).toBe(200);
    const [result] = await source.send(moneyMoved(former.login, "B-3", "deposit", "5.00"));
    expect(result.status).toBe("applied");
    expect([await balanceOf(former), await balanceOf(later)]).toEqual(["10002.00", "10005.00"]);
  });

  it("decides an account again that changes meanwhile, and the others only once", async () => {
    const [first, second] = [await trader(), await trader()];
    const source = await newSource();
    const transactions: TableCall[] = [];
    let changed = false;
    api.watched.interfere = async (call) => {
      if (call.operation !== "TransactWriteItems") return undefined;
      if (changed) {
        transactions.push(call);
        return undefined;
      }
      changed = true;
      await broker.deposit(first, "5.00", { status: "completed" });
      transactions.splice(0, transactions.length, call);
      return undefined;
    };
    const results = await source.send(opening(first.login, "D-1", "P-1"), opening(second.login, "D-2", "P-2"));
    expect(statuses(results)).toEqual(["applied", "applied"]);
    // Both together, the second account without the first one, the first one by itself.
    const [both = 0, ...alone] = transactions.map(membersOf);
    expect(alone).toHaveLength(2);
    expect(alone.reduce((sum, count) => sum + count, 0)).toBe(both);
    expect([await balanceOf(first), await balanceOf(second)]).toEqual(["10001.50", "9996.50"]);
  });

  it("applies each item once where its transaction meets others", async () => {
    const accounts = [await trader(), await trader(), await trader()];
    const source = await newSource();
    let met = 0;
    api.watched.interfere = (call) => {
      if (call.operation !== "TransactWriteItems" || met === 2) return undefined;
      met += 1;
      const codes = Array.from({ length: membersOf(call) }, () => "None");
      codes[met === 1 ? 0 : codes.length - 1] = "TransactionConflict";
      return cancelled(...codes);
    };
    const results = await source.send(
      ...accounts.flatMap(({ login }, at) => [
        opening(login, `D-${at}`, `P-${at}`, { commission: "0" }),
        closing(`C-${at}`, `P-${at}`, { profit: "10.00", commission: "0" }),
      ]),
    );
    expect(new Set(statuses(results))).toEqual(new Set(["applied"]));
    for (const account of accounts) expect(await balanceOf(account)).toBe("10010.00");
  });

  it("never commits what follows from a deal before it: a close waits with the deal that it closes", async () => {
    const [one, other] = [await trader(), await trader()];
    const source = await newSource();
    api.watched.interfere = (call) => {
      const fails = call.operation === "TransactWriteItems" && JSON.stringify(call.input).includes(one.id);
      return fails ? cancelled(...Array.from({ length: membersOf(call) }, () => "ThrottlingError")) : undefined;
    };
    const items = [
      opening(one.login, "D-1", "P-1", { commission: "0" }),
      closing("D-2", "P-1", { profit: "1.00", commission: "0" }),
      moneyMoved(other.login, "B-1", "deposit", "1.00"),
    ];
    const numbered = items.map((item, at) => ({ seq: String(at + 1), ...item }));
    const waiting = await source.raw({ first_seq: "1", items: numbered });
    expect(statuses(waiting.body.results.slice(0, 2))).toEqual(["deferred", "deferred"]);
    api.watched.interfere = () => undefined;
    const again = await source.raw({ first_seq: "1", items: numbered });
    expect(statuses(again.body.results.slice(0, 2))).toEqual(["applied", "applied"]);
    expect([await balanceOf(one), await balanceOf(other)]).toEqual(["10001.00", "10001.00"]);
  });
});
