import { beforeAll, describe, expect, it, vi } from "vitest";
import { closing, moneyMoved, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { counts, position, reason, snapshots } from "../../support/builders/snapshots.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { asOperator, newCaller } from "../../support/emulator/request.ts";

const api = await startJudgedApi();
const caller = newCaller();
beforeAll(() => putMarket(api, caller.tenant_id));

const broker = brokerage(api, caller);
const second = newCaller({ tenant_id: caller.tenant_id });
const { call, linked, resolve, unusedLogin } = snapshots(api, caller);

describe("a snapshot", () => {
  it("of equal books is equal, counts its accounts, and is read again", async () => {
    const { source, login, snapshot, theirs, drifts } = await linked();
    await source.send(opening(login, "D-1", "P-1"));
    const accounts = [theirs({ balance: "996.50", positions: [position("P-1")] })];
    expect(await snapshot({ accounts })).toMatchObject({ status: "compared", ...counts(1, 0, 0), left_out: [] });
    expect(await drifts()).toEqual([]);
    const path = `${source.path}/snapshots`;
    expect((await call("GET", `${path}/S-1`)).body).toMatchObject({ ...counts(1, 0, 0), received_parts: 1 });
    expect((await call("GET", path)).body.data).toMatchObject([{ snapshot_id: "S-1", missing: null }]);
    expect((await call("GET", `${path}/S-none`)).status).toBe(404);
    expect((await call("GET", "/feed/sources/src_01JD0000000000000000000000/snapshots")).status).toBe(404);
  });

  it("is compared at its number: what later items did is left out, of money and of positions", async () => {
    const { source, login, snapshot, theirs, drifts } = await linked();
    await source.send(opening(login, "D-1", "P-1", { commission: "0" }));
    const as_of_seq = String(BigInt((await source.get()).expected_next_seq) - 1n);
    await source.send(
      moneyMoved(login, "B-1", "deposit", "50.00"),
      closing("D-2", "P-1", { profit: "340.00" }),
      opening(login, "D-3", "P-2"),
    );
    const accounts = [theirs({ positions: [position("P-1")] })];
    const result = await snapshot({ as_of_seq, accounts });
    expect(result).toMatchObject(counts(0, 1, 0));
    expect(result.left_out[0].ids).toEqual(expect.arrayContaining(["P-1", "P-2"]));
    expect(await drifts()).toEqual([]);
  });

  it("that includes items which have not come is refused with what is expected", async () => {
    const { source, post } = await linked();
    const { expected_next_seq } = await source.get();
    const { answer } = await post({ as_of_seq: expected_next_seq });
    expect([answer.status, answer.body]).toMatchObject([
      409,
      { code: "snapshot_ahead", expected_seq: expected_next_seq },
    ]);
    expect((await post({ part: 2 })).answer.status).toBe(422);
    expect((await post({ taken_at: new Date(Date.now() + 120_000).toISOString() })).answer.status).toBe(422);
    const elsewhere = "/feed/sources/src_01JD0000000000000000000000/snapshots";
    expect((await call("POST", elsewhere, (await post({})).body)).status).toBe(404);
  });

  it("takes its parts in any order and each once, also when the process of one has died", async () => {
    const { source, snapshot, post, theirs, drifts } = await linked();
    const other = { ...theirs({ balance: "7.00" }), platform_login: unusedLogin() };
    const whole = { snapshot_id: "S-parts", parts: 2, complete: true, taken_at: new Date().toISOString() };
    const last = { ...whole, part: 2, accounts: [other] };
    let failures = 0;
    api.watched.interfere = ({ operation, input }) => {
      if (operation !== "PutItem" || !JSON.stringify(input).includes("PART#0002")) return undefined;
      failures += 1;
      return { status: 400, body: { __type: "AccessDeniedException" } };
    };
    const { answer } = await post(last);
    api.watched.interfere = () => undefined;
    expect([failures, answer.status]).toEqual([1, 500]);
    expect(await snapshot(last)).toMatchObject(counts(0, 0, 1));
    expect(await snapshot(last)).toMatchObject(counts(0, 0, 1));
    expect((await post({ ...last, accounts: [] })).answer.body.code).toBe("snapshot_conflict");
    expect((await post({ ...last, part: 1, complete: false })).answer.body.code).toBe("snapshot_conflict");
    expect(await snapshot({ ...whole, part: 1 })).toMatchObject(counts(1, 0, 0));
    expect(await drifts()).toMatchObject([{ kind: "account_unknown", account_id: null, ours: null, theirs: "7.00" }]);
    expect((await call("GET", `${source.path}/snapshots/S-parts`)).body).toMatchObject({
      ...counts(1, 0, 1),
      received_parts: 2,
      missing: 0,
    });
  });

  it("that is complete shows which linked accounts are missing, until one contains them again", async () => {
    const { snapshot, account, drifts, post } = await linked();
    const { body } = await post({ accounts: [], complete: true });
    expect((await call("GET", `/drift?account_id=${account.id}`)).body.data).toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400_000 });
    await snapshot({ accounts: [], complete: true });
    expect(await drifts()).toMatchObject([
      { kind: "account_missing", account_id: account.id, ours: "active", theirs: null, status: "open" },
    ]);
    const [{ id }] = await drifts();
    expect((await resolve(id, "adopt_platform")).body.code).toBe("illegal_transition");
    await snapshot();
    expect(await drifts()).toMatchObject([{ status: "resolved", resolution: { action: "agreed" } }]);
    expect(body.complete).toBe(true);
  });

  it("that is older than the newest one is superseded and resolves nothing", async () => {
    const { snapshot, theirs, drifts } = await linked();
    const before = new Date(Date.now() - 1000).toISOString();
    await snapshot({ accounts: [theirs({ balance: "990.00" })] });
    expect(await snapshot({ taken_at: before })).toMatchObject({ status: "superseded", ...counts(0, 0, 0) });
    expect(await drifts()).toMatchObject([{ kind: "balance", status: "open" }]);
    await snapshot();
    expect(await drifts()).toMatchObject([{ kind: "balance", status: "resolved", resolution: { action: "agreed" } }]);
  });

  it("that is complete reports nothing as missing once a newer one has come", async () => {
    const { snapshot, post, drifts } = await linked();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 400_000 });
    const old = { snapshot_id: "S-old", taken_at: new Date().toISOString(), complete: true, accounts: [] };
    api.watched.interfere = ({ operation, input }) =>
      operation === "Query" && JSON.stringify(input).includes("SNP")
        ? { status: 400, body: { __type: "AccessDeniedException" } }
        : undefined;
    expect((await post(old)).answer.status).toBe(500);
    api.watched.interfere = () => undefined;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1000 });
    expect(await snapshot({ complete: true })).toMatchObject(counts(1, 0, 0));
    await snapshot(old);
    expect(await drifts()).toEqual([]);
  });

  it("is compared without a deal that was taken back since, also one that booked nothing", async () => {
    const { source, login, snapshot, theirs, drifts } = await linked();
    await source.send(opening(login, "D-1", "P-1", { commission: "0" }));
    const as_of_seq = String(BigInt((await source.get()).expected_next_seq) - 1n);
    const data = { reversal_id: "R-1", platform_login: login, deal_id: "D-1" };
    expect(await source.send({ type: "deal_reversal", data })).toMatchObject([{ status: "applied" }]);
    const accounts = [theirs({ positions: [position("P-1")] })];
    expect(await snapshot({ as_of_seq, accounts })).toMatchObject(counts(0, 1, 0));
    expect(await drifts()).toEqual([]);
  });

  it("finds an acknowledgement of an operation that does not exist five minutes after it", async () => {
    const { source, account, snapshot, drifts } = await linked();
    const deposit = await broker.deposit(account, "100.00", { status: "completed" });
    expect(await snapshot()).toMatchObject(counts(1, 0, 0));
    await call("POST", `${source.path}/commands/take`, {});
    await call("POST", `${source.path}/commands/${deposit.command_id}/ack`, { attempt: 1, status: "done" });
    expect(await snapshot()).toMatchObject({ ...counts(1, 0, 0), left_out: [{ ids: [deposit.id] }] });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 301_000 });
    expect(await snapshot()).toMatchObject(counts(0, 0, 1));
    expect(await drifts()).toMatchObject([
      {
        ...{ kind: "balance", account_id: account.id, ours: "1100.00", theirs: "1000.00", status: "open" },
        explained_by: [{ type: "transaction", id: deposit.id }],
      },
    ]);
  });
});

describe("a drift", () => {
  it("names both sides of a position, and what was put aside", async () => {
    const { source, login, snapshot, theirs, drifts } = await linked();
    await source.send(
      opening(login, "D-1", "P-1", { commission: "0" }),
      opening(login, "D-2", "P-2", { symbol: "NO" }),
    );
    const positions = [position("P-1", { lots: "2.00" }), position("P-2", { symbol: "NO" })];
    await snapshot({ accounts: [theirs({ positions })] });
    const found = await drifts();
    expect(
      found.map(({ kind, position_id, ours, theirs: other }: Record<string, string>) => [
        kind,
        position_id,
        ours,
        other,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ["position_lots", "P-1", "buy 1.00", "buy 2.00"],
        ["position_missing_here", "P-2", null, "buy 1.00"],
      ]),
    );
    expect(found[0].explained_by).toMatchObject([{ type: "reject" }]);
    expect(await drifts("&kind=position_lots")).toHaveLength(1);
    const { id } = found[0];
    expect((await call("GET", `/drift/${id}`)).body).toEqual(found[0]);
    const unknown = "drf_01JD0000000000000000000000";
    expect([(await call("GET", `/drift/${unknown}`)).status, (await resolve(unknown, "accept")).status]).toEqual([
      404, 404,
    ]);
    const headers = { "If-None-Match": '"1"' };
    expect((await api.call(caller, "GET", `/drift/${id}`, { headers })).status).toBe(304);
    expect((await resolve(id, "adopt_platform")).body.code).toBe("drift_changed");
  });

  it("that was accepted is reported again only when it has changed", async () => {
    const { snapshot, theirs, drifts } = await linked();
    const accounts = [theirs({ balance: "990.00" })];
    await snapshot({ accounts });
    const [{ id }] = await drifts();
    expect((await resolve(id, "accept")).body).toMatchObject({ status: "resolved", resolution: { action: "accept" } });
    expect((await resolve(id, "accept")).body.code).toBe("illegal_transition");
    await snapshot({ accounts });
    expect(await drifts("&status=open")).toEqual([]);
    await snapshot({ accounts: [theirs({ balance: "980.00" })] });
    expect(await drifts("&status=open")).toMatchObject([{ ours: "1000.00", theirs: "980.00" }]);
  });

  it("of a balance is adopted by two applications, books the difference here once, and stays equal", async () => {
    const { snapshot, theirs, drifts, balance, account } = await linked();
    const accounts = [theirs({ balance: "1012.50" })];
    await snapshot({ accounts });
    const [{ id }] = await drifts();
    expect((await resolve(id, "adopt_platform")).body).toMatchObject({ status: "open", proposal: { by: {} } });
    expect((await resolve(id, "adopt_platform")).body.code).toBe("four_eyes_required");
    // Finance could agree, and no other operator: it is in what they hand over.
    const only = asOperator(caller, "Only", "finance");
    await api.call(only, "GET", "/me");
    const proposals = async () =>
      (await call("GET", `/operators/${only.operator?.id}/handover`)).body.proposals.filter(
        ({ resource_id }: { resource_id: string }) => resource_id === id,
      );
    const place = { resource_type: "drift", resource_id: id, change: "proposal", part: "needed" };
    expect(await proposals()).toMatchObject([place]);
    expect((await resolve(id, "accept")).body.code).toBe("illegal_transition");
    expect(await balance()).toBe("1000.00");
    const adopted = await resolve(id, "adopt_platform", second);
    expect(adopted.body).toMatchObject({ status: "resolved", resolution: { action: "adopt_platform", reason } });
    expect(await balance()).toBe("1012.50");
    expect(await proposals()).toEqual([]);
    const { transaction_id } = adopted.body.resolution;
    expect(await broker.get(`/transactions/${transaction_id}`)).toMatchObject({
      ...{ kind: "adjustment", status: "completed", amount: "12.50", account_id: account.id },
      ...{ created_by: { id: caller.application_id }, approved_by: { id: second.application_id } },
    });
    expect(await snapshot({ accounts })).toMatchObject(counts(1, 0, 0));
  });

  it("of credit is adopted as credit without an end, and a smaller one takes it from the lots", async () => {
    const { snapshot, theirs, drifts, account } = await linked();
    for (const [credit, kind, amount] of [
      ["50.00", "credit_in", "50.00"],
      ["20.00", "credit_out", "30.00"],
    ] as const) {
      const accounts = [theirs({ credit })];
      await snapshot({ accounts });
      const [{ id }] = await drifts("&status=open");
      await resolve(id, "adopt_platform");
      const { body } = await resolve(id, "adopt_platform", second);
      expect(body, JSON.stringify(body)).toMatchObject({ kind: "credit", status: "resolved" });
      expect(await broker.get(`/transactions/${body.resolution.transaction_id}`)).toMatchObject({
        ...{ kind, status: "completed", amount, approved_by: { id: second.application_id } },
      });
      expect(await broker.get(`/accounts/${account.id}/balance`)).toMatchObject({ balance: "1000.00", credit });
      expect(await snapshot({ accounts })).toMatchObject(counts(1, 0, 0));
    }
  });

  it("is not adopted while a command is taken, however many operations have not been reported", async () => {
    const { source, account, snapshot, theirs, drifts, balance } = await linked();
    for (let place = 0; place < 11; place += 1) {
      const { command_id } = await broker.deposit(account, "1.00", { status: "completed" });
      await call("POST", `${source.path}/commands/take`, { max: 1 });
      await call("POST", `${source.path}/commands/${command_id}/ack`, { attempt: 1, status: "done" });
    }
    const taken = await broker.deposit(account, "99.00", { status: "completed" });
    await call("POST", `${source.path}/commands/take`, { max: 1 });
    expect(await balance()).toBe("1011.00");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 301_000 });
    await snapshot({ accounts: [theirs({ balance: "1110.00" })] });
    const [drift] = await drifts();
    expect(drift).toMatchObject({ ours: "1011.00", theirs: "1110.00" });
    expect(drift.explained_by[0]).toEqual({ type: "command", id: taken.command_id });
    expect((await resolve(drift.id, "adopt_platform")).body).toMatchObject({
      ...{ code: "drift_changed", causes: [taken.command_id] },
    });
  });

  it("is not adopted while something was put aside before a thousand other items of its source", async () => {
    const { source, account, login, theirs, snapshot, drifts } = await linked();
    await broker.deposit(account, "30.00", { status: "completed" });
    const [aside] = await source.send(moneyMoved(login, "B-1", "deposit", "30.00"));
    expect(aside.code).toBe("possible_duplicate");
    for (let sent = 0; sent < 11; sent += 1) {
      const items = Array.from({ length: 100 }, (_, at) =>
        moneyMoved("no-login", `N-${sent}-${at}`, "deposit", "1.00"),
      );
      await source.send(...items);
    }
    await snapshot({ accounts: [theirs({ balance: "1030.00" })] });
    const [drift] = await drifts();
    expect(drift.explained_by).toContainEqual({ type: "possible_duplicate", id: aside.seq });
    const refused = await resolve(drift.id, "adopt_platform");
    expect([refused.status, refused.body]).toMatchObject([409, { code: "drift_changed" }]);
    expect(refused.body.causes).toContain(aside.seq);
  });

  it("is not adopted once its account has changed, something was put aside, or a newer snapshot has come", async () => {
    const { source, login, account, snapshot, theirs, drifts } = await linked();
    const accounts = [theirs({ balance: "1012.50" })];
    await snapshot({ accounts });
    const [{ id }] = await drifts();
    await resolve(id, "adopt_platform");
    await source.send(moneyMoved(login, "B-1", "deposit", "1.00"));
    expect((await resolve(id, "adopt_platform", second)).body.code).toBe("drift_changed");
    await snapshot({ accounts: [theirs({ balance: "1013.50" })] });
    expect((await resolve(id, "adopt_platform")).body.proposal).not.toBeNull();
    await snapshot({ accounts: [] });
    expect((await resolve(id, "adopt_platform", second)).body.code).toBe("drift_changed");
    await snapshot({ accounts: [theirs({ balance: "1013.50" })] });
    await broker.deposit(account, "5.00", { status: "completed" });
    expect((await resolve(id, "adopt_platform", second)).body).toMatchObject({
      code: "drift_changed",
      causes: [expect.stringMatching(/^cmd_/)],
    });
    await source.send(opening(login, "D-1", "P-1", { symbol: "NO" }));
    expect((await resolve(id, "adopt_platform", second)).body.code).toBe("drift_changed");
  });

  it.each(["hedging", "netting"])(
    "of a position is adopted without money, and later deals find the position (%s)",
    async (position_mode) => {
      const { source, login, snapshot, theirs, drifts, balance, account } = await linked({ position_mode });
      const none = { commission: "0" };
      await source.send(
        opening(login, "D-1", "P-1", none),
        opening(login, "D-2", "P-2", { ...none, symbol: "GBPUSD", price: "1.30000" }),
      );
      const positions = [
        position("P-1", { side: "sell", lots: "3.00", open_price: "1.20000" }),
        position("P-3", { symbol: "USDJPY", lots: "0.50", open_price: "150.000" }),
      ];
      const accounts = [theirs({ positions })];
      for (let round = 0; round < 3; round += 1) {
        await snapshot({ accounts });
        const [{ id }] = await drifts("&status=open");
        expect((await resolve(id, "adopt_platform")).body.proposal).not.toBeNull();
        const { body } = await resolve(id, "adopt_platform", second);
        expect(body, JSON.stringify(body)).toMatchObject({
          status: "resolved",
          resolution: { action: "adopt_platform", transaction_id: null, trade_id: expect.stringMatching(/^trd_/) },
        });
      }
      expect((await drifts()).map(({ kind }: { kind: string }) => kind).toSorted()).toEqual([
        "position_missing_here",
        "position_missing_there",
        "position_side",
      ]);
      expect(await snapshot({ accounts })).toMatchObject(counts(1, 0, 0));
      expect(await balance()).toBe("1000.00");
      const held = (await broker.get(`/accounts/${account.id}/positions`)).data;
      expect(
        held.map((each: Record<string, string>) => [each["symbol"], each["side"], each["lots"]]).toSorted(),
      ).toEqual([
        ["EURUSD", "sell", "3.00"],
        ["USDJPY", "buy", "0.50"],
      ]);
      await source.send(
        closing("D-3", "P-1", { profit: "10.00" }),
        closing("D-4", "P-3", { profit: "-4.00", price: "150.100" }),
      );
      expect(await balance()).toBe("1006.00");
      expect(await snapshot({ accounts: [theirs({ balance: "1006.00" })] })).toMatchObject(counts(1, 0, 0));
    },
  );
});
