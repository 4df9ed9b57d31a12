import { afterAll, describe, expect, it } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { findings } from "../../support/oracles/oracle.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi("stream");
afterAll(api.stop);

const caller = newCaller({ scopes: ["sandbox"] });
const all = newCaller({ tenant_id: caller.tenant_id });
const broker = brokerage(api, all);
const known = { date_of_birth: "1990-12-31", country: "PT" };

const trigger = (address: string, as: TestCaller = caller) => api.call(as, "POST", `/sandbox/${address}`);

/** Kinds of the outbox's events in the order in which the table got them, of one resource. */
async function announced(id: string): Promise<string[]> {
  const { readChanges } = await import("../../support/emulator/raw-table.ts");
  const outboxes = (await readChanges(api.emulator)).flatMap(({ before, after }) =>
    before === undefined && after?.["et"] === "OUTBOX" ? [after] : [],
  );
  const texts = outboxes.flatMap((item) => item["events"] as string[]);
  const events = texts.map((text) => JSON.parse(text).body);
  return events.filter(({ resource }) => resource.id === id).map(({ type, data }) => `${type} ${stateOf(data.object)}`);
}

const stateOf = (resource: Record<string, string>) => resource["verification_status"] ?? resource["status"];

describe("a trigger", () => {
  it("needs the scope of the sandbox, and reaches no other tenant", async () => {
    const client = await broker.client();
    const denied = await trigger(`clients/${client.id}/verify`, { ...caller, scopes: ["clients:verify"] });
    expect([denied.status, denied.body.code, denied.body.scope]).toEqual([403, "insufficient_scope", "sandbox"]);
    expect((await trigger(`clients/${client.id}/verify`, newCaller())).body.code).toBe("not_found");
    const deposit = await broker.deposit(await broker.account(), "10.00");
    for (const name of ["settle", "fail", "return"]) {
      expect((await trigger(`transactions/${deposit.id}/${name}`, newCaller())).body.code).toBe("not_found");
    }
  });
});

describe("a client", () => {
  it("cannot be decided on once it is closed", async () => {
    const closed = await broker.client(known);
    await api.call(all, "PATCH", `/clients/${closed.id}`, { body: { status: "closed" } });
    for (const decision of ["verify", "reject"]) {
      expect((await trigger(`clients/${closed.id}/${decision}`)).body.code).toBe("client_closed");
    }
  });

  it("is verified once, with its event", async () => {
    const client = await broker.client();
    const verified = await trigger(`clients/${client.id}/verify`);
    expect(verified.body).toMatchObject({ verification_status: "verified", version: 2 });
    expect((await trigger(`clients/${client.id}/verify`)).body).toEqual(verified.body);
    expect(await announced(client.id)).toEqual([
      "client.created unverified",
      "client.verified verified",
      "client.updated verified",
    ]);
  });

  it("is rejected while it is pending or verified, once, with its event", async () => {
    const client = await broker.client(known);
    await api.call(all, "PATCH", `/clients/${client.id}`, { body: { verification_status: "pending" } });
    const rejected = await trigger(`clients/${client.id}/reject`);
    expect(rejected.body).toMatchObject({
      verification_status: "rejected",
      verification: { rejection_reasons: ["identity_verification"] },
      version: 3,
    });
    expect((await trigger(`clients/${client.id}/reject`)).body).toEqual(rejected.body);
    expect(await announced(client.id)).toEqual([
      "client.created unverified",
      "client.updated pending",
      "client.updated rejected",
    ]);
    await trigger(`clients/${client.id}/verify`);
    expect((await trigger(`clients/${client.id}/reject`)).body).toMatchObject({ verification_status: "rejected" });
  });
});

describe.each(["deposit", "withdrawal"] as const)("a %s", (kind) => {
  const made = async (status?: string) => {
    const account = await broker.account("100.00");
    const transaction = await broker[kind](account, "40.00", { fee: "1.00" });
    if (status !== undefined) await broker.move(transaction, status);
    return { account, id: transaction.id as string };
  };
  const money = async ({ account }: { account: { id: string } }) => {
    const { balance, held, available_balance } = await broker.get(`/accounts/${account.id}/balance`);
    return [balance, held, available_balance];
  };
  const [after, held] = kind === "deposit" ? ["139.00", "0.00"] : ["60.00", "40.00"];

  it("cannot fail when it is done, nor be returned before", async () => {
    const { id } = await made();
    const early = await trigger(`transactions/${id}/return`);
    expect([early.status, early.body.code]).toEqual([409, "illegal_transition"]);
    await trigger(`transactions/${id}/settle`);
    const late = await trigger(`transactions/${id}/fail`);
    expect(late.body).toMatchObject({ code: "illegal_transition", from: "completed", allowed: ["returned"] });
  });

  it.each([undefined, "approved", "processing"])("that is %s is settled once", async (status) => {
    const one = await made(status);
    const settled = await trigger(`transactions/${one.id}/settle`);
    expect(settled.body.status).toBe("completed");
    expect((await trigger(`transactions/${one.id}/settle`)).body).toEqual(settled.body);
    expect(await money(one)).toEqual([after, "0.00", after]);
    expect((await announced(one.id)).filter((each) => each.startsWith("transaction.completed"))).toHaveLength(1);
  });

  it.each([undefined, "approved", "processing"])("that is %s fails, and leaves the money as it was", async (status) => {
    const one = await made(status);
    if (status === undefined) expect((await money(one))[1]).toBe(held);
    const failed = await trigger(`transactions/${one.id}/fail`);
    expect(failed.body).toMatchObject({ status: "failed", status_reason: { code: "provider_declined" } });
    expect((await trigger(`transactions/${one.id}/fail`)).body).toEqual(failed.body);
    const states = failed.body.status_history.map(({ to }: { to: string }) => to);
    expect(states).toEqual(["pending", ...(status === undefined ? [] : [status]), "failed"]);
    expect(failed.body.version).toBe(states.length);
    expect(await money(one)).toEqual(["100.00", "0.00", "100.00"]);
    expect(await announced(one.id)).toEqual([
      "transaction.created pending",
      ...states.slice(1).map((state: string) => `transaction.updated ${state}`),
    ]);
  });

  it("is returned leg by leg, once", async () => {
    const one = await made("completed");
    const returned = await trigger(`transactions/${one.id}/return`);
    expect(returned.body).toMatchObject({ status: "returned", status_reason: { code: "provider_returned" } });
    expect(await money(one)).toEqual(["100.00", "0.00", "100.00"]);
    expect((await trigger(`transactions/${one.id}/return`)).body).toEqual(returned.body);
  });
});

describe("under four eyes", () => {
  it("a transaction without approval is not settled, and can fail", async () => {
    const careful = newCaller();
    const own = brokerage(api, careful);
    await api.call(careful, "PATCH", "/settings", { body: { four_eyes: true } });
    const deposit = await own.deposit(await own.account(), "10.00");
    expect((await trigger(`transactions/${deposit.id}/settle`, careful)).body.code).toBe("illegal_transition");
    expect((await trigger(`transactions/${deposit.id}/fail`, careful)).body.status).toBe("failed");
  });
});

describe("a return", () => {
  it("of money that is gone is refused as a conflict", async () => {
    const account = await broker.account();
    const deposit = await broker.deposit(account, "100.00", { status: "completed" });
    await broker.withdrawal(account, "60.00");
    const refused = await trigger(`transactions/${deposit.id}/return`);
    expect([refused.status, refused.body.code]).toEqual([409, "insufficient_funds"]);
  });
});

describe("the provider of the sandbox", () => {
  const sweep = async () => {
    const { simulateOverdue } = await import("../../../shared/sandbox/provider.ts");
    return simulateOverdue(
      () => true,
      () => 30_000,
    );
  };
  const statusOf = async ({ id }: { id: string }) => (await broker.get(`/transactions/${id}`)).status;
  const pay = async (kind: "deposit" | "withdrawal", amount: string, more: object = {}) => {
    const account = await broker.account("100.00");
    return broker[kind](account, amount, { provider: "sandbox", ...more });
  };

  it("is no other provider, and leaves other cents alone", async () => {
    for (const [amount, provider] of [
      ["10.13", "acme"],
      ["10.19", null],
      ["13.00", "sandbox"],
      ["10.31", "sandbox"],
    ] as const) {
      const made = await pay("deposit", amount, { provider });
      expect([amount, await statusOf(made)]).toEqual([amount, "pending"]);
    }
    expect(await sweep()).toEqual({ done: 0, failed: 0 });
  });

  it.each(["deposit", "withdrawal"] as const)("declines a %s of x.13 and keeps one of x.17", async (kind) => {
    const declined = await pay(kind, "10.13");
    const kept = await pay(kind, "10.17");
    expect([declined.status, await statusOf(declined), await statusOf(kept)]).toEqual(Array(3).fill("pending"));
    expect(await sweep()).toEqual({ done: 2, failed: 0 });
    const { status, status_reason, status_history } = await broker.get(`/transactions/${declined.id}`);
    expect([status, status_reason.code]).toEqual(["failed", "provider_declined"]);
    expect(status_history.at(-1).actor).toEqual({ type: "system", id: "sandbox_provider", name: "sandbox_provider" });
    expect(await statusOf(kept)).toBe("processing");
    expect(await sweep()).toEqual({ done: 0, failed: 0 });
    expect((await trigger(`transactions/${kept.id}/settle`)).body.status).toBe("completed");
  });

  it.each(["deposit", "withdrawal"] as const)("settles a %s of x.19 and returns it a day later, once", async (kind) => {
    process.env["TIME_SCALE"] = "8640000";
    const made = await pay(kind, "10.19");
    expect([await sweep(), await statusOf(made)]).toEqual([{ done: 1, failed: 0 }, "completed"]);
    delete process.env["TIME_SCALE"];
    const returned = await eventually(async () => ((await sweep()).done === 1 ? true : undefined));
    expect([returned, await statusOf(made)]).toEqual([true, "returned"]);
    expect((await broker.get(`/accounts/${made.account_id}/balance`)).balance).toBe("100.00");
    expect(await sweep()).toEqual({ done: 0, failed: 0 });
  });

  it("takes money back that is gone, as a chargeback does", async () => {
    process.env["TIME_SCALE"] = "8640000";
    const made = await pay("deposit", "10.19");
    await sweep();
    await broker.withdrawal({ id: made.account_id }, "110.19", { status: "completed" });
    await eventually(async () => ((await sweep()).done === 1 ? true : undefined));
    delete process.env["TIME_SCALE"];
    expect(await broker.get(`/accounts/${made.account_id}`)).toMatchObject({
      balance: "-10.19",
      trading_mode: "close_only",
    });
  });

  it("waits for the second pair of eyes, without holding up the expiry", async () => {
    const careful = newCaller();
    const own = brokerage(api, careful);
    await api.call(careful, "PATCH", "/settings", { body: { four_eyes: true } });
    const account = await own.account();
    const settling = await own.deposit(account, "10.19", { provider: "sandbox" });
    const soon = new Date(Date.now() + 50).toISOString();
    const expiring = await own.deposit(account, "11.19", { provider: "sandbox", expires_at: soon });
    await sweep();
    expect((await own.get(`/transactions/${settling.id}`)).status).toBe("pending");
    const expired = await eventually(async () => {
      await sweep();
      const { status_reason } = await own.get(`/transactions/${expiring.id}`);
      return status_reason ?? undefined;
    });
    expect(expired.code).toBe("expired");
    const other = newCaller({ tenant_id: careful.tenant_id });
    const approved = await api.call(other, "PATCH", `/transactions/${settling.id}`, { body: { status: "approved" } });
    expect([approved.body.status, await sweep()]).toEqual(["approved", { done: 1, failed: 0 }]);
    expect((await own.get(`/transactions/${settling.id}`)).status).toBe("completed");
  });
});

it("the raw table holds nothing that breaks a rule", async () => {
  expect(await findings(api.emulator)).toEqual([]);
});
