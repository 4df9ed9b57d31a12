import { beforeAll, describe, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { counts, position, reason, snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { asOperator, lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));

const broker = brokerage(api, caller);
const second = newCaller({ tenant_id: caller.tenant_id });
const { call, linked, unusedLogin } = snapshots(api, caller);

describe("an account that only the platform knows", () => {
  /** A bridge that has reported an unknown login, and what its snapshot has of it. */
  async function unknown(count: number = limits.snapshots.baseline_positions) {
    const { source, snapshot, drifts } = await linked();
    const login = unusedLogin();
    await source.send(moneyMoved(login, "B-1", "deposit", "500.00"), opening(login, "D-1", "P-1", { commission: "0" }));
    const as_of_seq = String(BigInt((await source.get()).expected_next_seq) - 1n);
    const prices = Object.entries({ EURUSD: "1.10000", GBPUSD: "1.30000", USDJPY: "150.000" });
    const small = Array.from({ length: count - 2 }, (_, place) => {
      const [symbol, open_price] = prices[place % 3] ?? [];
      return position(`P-small-${place}`, { symbol, open_price, lots: "0.01" });
    });
    const short = position("P-0", { symbol: "USDJPY", side: "sell", open_price: "150.000" });
    const positions = [position("P-1"), short, ...small];
    const theirs = { platform_login: login, balance: "700.00", credit: "50.00", positions };
    const account = (await broker.account(undefined, { type: "demo", leverage: 100 })) as { id: string };
    const adopt = (id: string, account_id: string | undefined, by: typeof caller = caller) =>
      call("POST", `/drift/${id}/resolve`, { action: "adopt_platform", reason, account_id }, by);
    const find = async () => {
      await snapshot({ as_of_seq, accounts: [theirs] });
      const [drift] = await drifts("&kind=account_unknown&status=open");
      return drift;
    };
    return { source, snapshot, drifts, login, theirs, small, account, adopt, find };
  }

  it("becomes an account here in one step, without booking twice what the snapshot includes", async () => {
    const { source, snapshot, login, theirs, small, account, adopt, find } = await unknown();
    const drift = await find();
    const { platform_login: _login, ...held } = theirs;
    expect(drift.platform_account).toEqual({ ...held, position_count: theirs.positions.length });
    await source.send(
      closing("D-2", "P-1", { platform_login: login, profit: "30.00" }),
      moneyMoved(login, "B-2", "deposit", "20.00"),
    );
    expect((await adopt(drift.id, account.id)).body.proposal).toMatchObject({ account_id: account.id });
    expect((await adopt(drift.id, account.id)).body.code).toBe("four_eyes_required");
    const { body } = await adopt(drift.id, account.id, second);
    expect(body, JSON.stringify(body)).toMatchObject({ status: "resolved", account_id: account.id });
    const opening = await broker.get(`/transactions/${body.resolution.transaction_id}`);
    expect(opening).toMatchObject({ kind: "adjustment", amount: "700.00", status: "completed" });
    const adopted = await broker.get(`/accounts/${account.id}`);
    expect(adopted).toMatchObject({ source_id: source.id, platform_login: login, balance: "750.00", credit: "50.00" });
    expect(await source.rejects("?status=open")).toEqual([]);
    const done = await source.rejects("?status=resolved");
    const resolutions = done.map(({ resolution }: { resolution: string }) => resolution).join(" ");
    expect(resolutions).toBe("in_baseline in_baseline applied applied");
    await source.send(closing("D-3", "P-0", { platform_login: login, profit: "-10.00", price: "150.100" }));
    const accounts = [{ ...theirs, balance: "740.00", positions: small }];
    expect(await snapshot({ accounts })).toMatchObject(counts(1, 0, 0));
  });

  it("has what was put aside retried by the sweep where the request that adopted it has died", async () => {
    const { source, account, adopt, find } = await unknown();
    const { id } = await find();
    await adopt(id, account.id);
    let failures = 0;
    api.watched.interfere = ({ operation, input }) => {
      if (operation !== "Query" || !JSON.stringify(input).includes("|REJ")) return undefined;
      failures += 1;
      // The first one looks for causes of the drift.
      return failures < 2 ? undefined : { status: 400, body: { __type: "AccessDeniedException" } };
    };
    expect((await adopt(id, account.id, second)).body).toMatchObject({ status: "resolved" });
    api.watched.interfere = () => undefined;
    expect([failures, (await source.rejects("?status=open")).length]).toEqual([2, 2]);
    await sweepEvents({}, lambdaContext());
    expect(await source.rejects("?status=open")).toHaveLength(2);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + limits.snapshots.baseline_retried_after_seconds * 1000 });
    expect(await sweepEvents({}, lambdaContext())).toMatchObject({ retried: 1, failed: 0 });
    expect(await source.rejects("?status=open")).toEqual([]);
    expect(await sweepEvents({}, lambdaContext())).toMatchObject({ retried: 0 });
  });

  it("opens what one commit has no room for by steps, whichever process dies after any write", async () => {
    const { source, snapshot, login, theirs, small, account, adopt, find } = await unknown(40);
    const { id, platform_account } = await find();
    expect(platform_account).toMatchObject({ position_count: 40, positions: { length: 12 } });
    await adopt(id, account.id);
    let allowed = 1;
    /** Every process writes once of what is about the account, and dies. */
    api.watched.interfere = ({ operation, input }) => {
      const about = operation === "UpdateItem" ? id : operation === "TransactWriteItems" ? account.id : undefined;
      if (about !== undefined && JSON.stringify(input).includes(about)) allowed -= 1;
      return allowed < 0 ? { status: 400, body: { __type: "AccessDeniedException" } } : undefined;
    };
    const { body } = await adopt(id, account.id, second);
    expect(body, JSON.stringify(body)).toMatchObject({ status: "resolved", account_id: account.id });
    const left: number[] = [];
    const opened = async () => (await broker.get(`/accounts/${account.id}/positions?limit=100`)).data.length;
    const at = Date.now() + limits.snapshots.baseline_retried_after_seconds * 1000;
    vi.useFakeTimers({ toFake: ["Date"], now: at });
    const later = [
      closing("D-2", "P-1", { platform_login: login, profit: "30.00" }),
      moneyMoved(login, "B-2", "deposit", "20.00"),
    ] as const;
    for (let retried = 1; retried > 0; ) {
      const { interfere } = api.watched;
      api.watched.interfere = () => undefined;
      left.push(40 - (await opened()));
      if (left.length < 3) {
        const deferred = { status: "deferred", code: "service_unavailable" };
        expect(await source.send(...later)).toMatchObject([deferred, deferred]);
        await expect(broker.deposit(account, "1.00", {})).rejects.toThrow("503");
        expect(await snapshot({ accounts: [theirs] })).toMatchObject(counts(0, 1, 0));
      }
      api.watched.interfere = interfere;
      allowed = 1;
      const swept = await sweepEvents({}, lambdaContext()).catch(() => undefined);
      retried = allowed < 0 ? 1 : (swept?.["retried"] ?? 1);
    }
    api.watched.interfere = () => undefined;
    expect(left).toEqual([40, 28, 16, 4, 0, 0, 0, 0]);
    expect(await source.rejects("?status=open")).toEqual([]);
    expect(await snapshot({ accounts: [theirs] })).toMatchObject(counts(1, 0, 0));
    expect(await source.send(...later)).toMatchObject([{ status: "applied" }, { status: "applied" }]);
    const after = { ...theirs, balance: "750.00", positions: [theirs.positions[1], ...small] };
    expect(await snapshot({ accounts: [after] })).toMatchObject(counts(1, 0, 0));
  });

  it("is adopted with an account that has nothing and that both applications name", async () => {
    const { snapshot, drifts, theirs, account, adopt, find } = await unknown();
    const { id } = await find();
    const other = (await broker.account(undefined, { type: "demo" })) as { id: string };
    expect((await adopt(id, undefined)).status).toBe(422);
    expect((await adopt(id, "acc_01JD0000000000000000000000")).body.code).toBe("account_not_found");
    expect((await adopt(id, account.id)).status).toBe(200);
    expect((await adopt(id, other.id, second)).body.code).toBe("illegal_transition");
    await broker.deposit(account, "1.00", { status: "completed" });
    expect((await adopt(id, account.id, second)).body.code).toBe("account_not_empty");
    const positions = Array.from({ length: limits.trading.max_positions + 1 }, (_, place) => position(`P-${place}`));
    await snapshot({ accounts: [{ ...theirs, positions: positions.slice(1) }] });
    const [most] = await drifts("&status=open");
    expect(most).toMatchObject({ id, platform_account: { position_count: 500 }, proposal: null });
    await snapshot({ accounts: [{ ...theirs, positions }] });
    expect(await drifts("&status=open")).toMatchObject([{ id, platform_account: null, proposal: null }]);
    expect((await adopt(id, other.id)).body.code).toBe("illegal_transition");
  });
});

const rule = { over: { USD: "100.00" }, approvers: 2, roles: ["finance"] } as const;
const rules = [
  { kind: "withdrawal", ...rule },
  { kind: "deposit", ...rule },
];

describe("the second one of an adoption", () => {
  it("is one whom the rule of its money accepts, and of an account the strictest rule", async () => {
    const owner = newCaller();
    await putMarket(api, owner.tenant_id);
    const named = (name: string, role: "finance" | "developer") => asOperator(owner, name, role);
    const [first, second, outsider] = [named("Ana", "finance"), named("Eva", "finance"), named("Zoe", "developer")];
    const { linked, resolve, unusedLogin, call } = snapshots(api, owner);
    const { snapshot, theirs, drifts, source } = await linked();
    await api.call(owner, "PATCH", "/settings", { body: { approval_rules: rules } });
    const unknown = { ...theirs({ balance: "40.00" }), platform_login: unusedLogin() };
    await source.send(moneyMoved(unknown.platform_login, "B-9", "deposit", "1.00"));
    const refusal = expect.stringContaining("invite an operator with the role finance");
    const adopt = async (balance: string) => {
      await snapshot({ accounts: [theirs({ balance })] });
      const [{ id }] = await drifts("&status=open&kind=balance");
      await resolve(id, "adopt_platform", first);
      return { id, by: async (who: TestCaller) => (await resolve(id, "adopt_platform", who)).body };
    };
    const large = await adopt("1150.00");
    for (const who of [outsider, owner]) {
      expect(await large.by(who)).toMatchObject({ code: "four_eyes_required", detail: refusal, roles: ["finance"] });
    }
    expect(await large.by(second)).toMatchObject({ status: "resolved" });
    // The rule covers no amount of 50.00.
    expect(await (await adopt("1200.00")).by(outsider)).toMatchObject({ status: "resolved" });

    await snapshot({ accounts: [theirs({ balance: "1200.00" }), unknown] });
    const [{ id }] = await drifts("&status=open&kind=account_unknown");
    const quiet = await brokerage(api, owner).account(undefined, { type: "demo" });
    const body = { action: "adopt_platform", reason: { code: "by_test" }, account_id: quiet.id };
    const baseline = async (who: TestCaller) => (await call("POST", `/drift/${id}/resolve`, body, who)).body;
    expect((await baseline(first)).proposal).toMatchObject({ account_id: quiet.id });
    expect(await baseline(outsider)).toMatchObject({ code: "four_eyes_required", detail: refusal });
    expect(await baseline(second)).toMatchObject({ status: "resolved", account_id: quiet.id });
  });
});
