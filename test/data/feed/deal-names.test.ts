import { describe, expect, it } from "vitest";
import { closing, moneyMoved, opening, reversal } from "../../support/builders/bridge.ts";
import { broker, newSource, trader } from "./feed-cases.ts";

const said = (results: readonly { status: string; code?: string }[]) =>
  results.map(({ status, code }) => (code === undefined ? status : `${status} ${code}`));

const swap = (position_id: string, amount: string) => ({
  type: "swap",
  data: { position_id, amount, for_date: "2026-11-20" },
});

const free = { commission: "0" };

async function balanceOf(id: string): Promise<string> {
  return (await broker.get(`/accounts/${id}/balance`)).balance;
}

describe("a name that comes again with another content", () => {
  it("books MT4's close under the ticket of the opening, and takes the close back before the opening", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const items = [opening(login, "100", "100", free), closing("100", "100", { profit: "47.00", ...free })];
    expect(said(await source.send(...items))).toEqual(["applied", "applied"]);
    expect(said(await source.send(...items))).toEqual(["duplicate", "duplicate"]);
    expect(await balanceOf(id)).toBe("10047.00");
    expect(said(await source.send(reversal(login, "R-1", "100")))).toEqual(["applied"]);
    expect(await broker.get(`/accounts/${id}/balance`)).toMatchObject({ balance: "10000.00", used_margin: "1100.10" });
    expect(said(await source.send(reversal(login, "R-2", "100")))).toEqual(["applied"]);
    expect(await broker.get(`/accounts/${id}/balance`)).toMatchObject({ balance: "10000.00", used_margin: "0.00" });
    expect(said(await source.send(reversal(login, "R-3", "100")))).toEqual(["rejected unknown_deal"]);
  });

  it.each(["in one batch", "one by one"])("books a corrected deal once, whatever is sent again, %s", async (way) => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const history = [
      opening(login, "D-1", "P-1", free),
      closing("D-2", "P-1", { profit: "49.00", ...free }),
      reversal(login, "R-1", "D-2"),
      closing("D-2", "P-1", { profit: "47.00", ...free }),
    ];
    const results = [];
    if (way === "in one batch") results.push(...(await source.send(...history)));
    else for (const item of history) results.push(...(await source.send(item)));
    expect(said(results)).toEqual(["applied", "applied", "applied", "applied"]);
    expect(await balanceOf(id)).toBe("10047.00");
    expect(said(await source.send(...history))).toEqual(["duplicate", "duplicate", "duplicate", "duplicate"]);
    expect(await balanceOf(id)).toBe("10047.00");
    expect(said(await source.send(closing("D-2", "P-1", { profit: "46.00" })))).toEqual(["rejected deal_conflict"]);
  });

  it("books nothing again of a deal that is taken back, and its correction under the same position", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const wrong = opening(login, "D-1", "P-1", { ...free, lots: "2.00" });
    expect(said(await source.send(wrong, reversal(login, "R-1", "D-1")))).toEqual(["applied", "applied"]);
    expect(said(await source.send(wrong, reversal(login, "R-1", "D-1")))).toEqual(["duplicate", "duplicate"]);
    expect((await broker.get(`/accounts/${id}/positions`)).data).toEqual([]);
    const right = opening(login, "D-1", "P-1", free);
    expect(said(await source.send(right))).toEqual(["applied"]);
    expect(said(await source.send(wrong, right))).toEqual(["duplicate", "duplicate"]);
    const [position] = (await broker.get(`/accounts/${id}/positions`)).data;
    expect(position).toMatchObject({ lots: "1.00" });
    expect(said(await source.send(reversal(login, "R-2", "D-1"), wrong, right))).toEqual([
      "applied",
      "duplicate",
      "duplicate",
    ]);
  });

  it("leaves to a person whether a deal that was taken back is corrected by a member it did not have", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const { commission: _none, ...data } = opening(login, "D-1", "P-1").data;
    const bare = { type: "execution", data };
    expect(said(await source.send(bare, opening(login, "D-1", "P-1"), reversal(login, "R-1", "D-1")))).toEqual([
      ...["applied", "duplicate", "applied"],
    ]);
    const results = await source.send(bare, opening(login, "D-1", "P-1"));
    expect(said(results)).toEqual(["duplicate", "rejected deal_conflict"]);
    expect(await balanceOf(id)).toBe("10000.00");
  });

  it("says of another operation, login, side, amount or night what was applied and what came", async () => {
    const [source, { id, login }, { login: other }] = [await newSource(), await trader(), await trader()];
    const sent = await source.send(
      opening(login, "D-1", "P-1", free),
      moneyMoved(login, "OPX", "deposit", "100.00"),
      swap("P-1", "-2.00"),
      closing("D-2", "P-1", { lots: "0.40", profit: "5.00", ...free }),
    );
    expect(said(sent)).toEqual(["applied", "applied", "applied", "applied"]);
    const before = await balanceOf(id);
    const wrong = [
      opening(other, "D-1", "P-2", free),
      opening(login, "D-1", "P-1", { ...free, side: "sell" }),
      opening(login, "D-1", "P-1", { ...free, lots: "0.50" }),
      moneyMoved(login, "OPX", "deposit", "999.00"),
      moneyMoved(login, "OPX", "withdrawal", "100.00"),
      swap("P-1", "-6.00"),
      closing("D-2", "P-1", { lots: "0.40", profit: "50.00" }),
      opening("no such login", "D-1", "P-1", free),
    ];
    const results = await source.send(...wrong);
    expect(said(results)).toEqual(wrong.map(() => "rejected deal_conflict"));
    const rejects = await source.rejects();
    expect(rejects.map(({ item }: { item: unknown }) => item)).toMatchObject(wrong);
    expect(rejects.map(({ booked }: { booked: unknown }) => booked)).toEqual([
      ...Array.from({ length: 3 }, () => ({
        ...{ action: "open", deal_id: "D-1", platform_login: login, position_id: "P-1", symbol: "EURUSD" },
        ...{ side: "buy", lots: "1", price: "1.1001", commission: "0" },
      })),
      ...Array.from({ length: 2 }, () => ({
        ...{ operation_id: "OPX", platform_login: login, kind: "deposit", amount: "100" },
      })),
      { position_id: "P-1", for_date: "2026-11-20", amount: "-2" },
      {
        action: "close",
        deal_id: "D-2",
        position_id: "P-1",
        lots: "0.4",
        price: "1.1035",
        profit: "5",
        commission: "0",
      },
      expect.objectContaining({ deal_id: "D-1" }),
    ]);
    expect(rejects[2]).toMatchObject({ errors: [{ pointer: "#/data/lots", code: "deal_conflict" }] });
    expect(await balanceOf(id)).toBe(before);
    expect((await source.retry(rejects[3].seq)).body).toMatchObject({ status: "rejected", code: "deal_conflict" });
  });

  it("is the same with a commission added, in another form of time and numbers, and with other stops", async () => {
    const [source, { login }] = [await newSource(), await trader()];
    const { commission: _none, ...data } = opening(login, "D-1", "P-1").data;
    const first = { type: "execution", at: "2026-11-21T06:30:00.120Z", data };
    const again = [
      first,
      { ...first, data: { ...data, commission: "-3.50" } },
      { ...first, data: { ...data, commission: null, lots: "1.0", price: "1.100100" } },
      { ...first, at: "2026-11-21T08:30:00.12+02:00" },
      { ...first, data: { ...data, stop_loss: "1.09", take_profit: "1.2", order_id: "O-1", margin_rate: "1" } },
    ];
    expect(said(await source.send(first))).toEqual(["applied"]);
    expect(said(await source.send(...again))).toEqual(again.map(() => "duplicate"));
    expect(said(await source.send(moneyMoved(login, "O-1", "withdrawal", "5.00")))).toEqual(["applied"]);
    expect(said(await source.send(moneyMoved(login, "O-1", "withdrawal", "-5")))).toEqual(["duplicate"]);
  });

  it("is new after it was rejected, and what was booked is kept where a correction is refused", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    expect(said(await source.send(opening(login, "D-1", "P-1", { ...free, symbol: "NOSUCH" })))).toEqual([
      "rejected symbol_not_found",
    ]);
    expect(said(await source.send(opening(login, "D-1", "P-1", free)))).toEqual(["applied"]);
    expect(said(await source.send(reversal(login, "R-1", "D-1")))).toEqual(["applied"]);
    const refused = opening(login, "D-1", "P-1", { ...free, symbol: "NOSUCH" });
    expect(said(await source.send(refused))).toEqual(["rejected symbol_not_found"]);
    expect(said(await source.send(opening(login, "D-1", "P-1", free)))).toEqual(["duplicate"]);
    expect((await broker.get(`/accounts/${id}/positions`)).data).toEqual([]);
  });

  it("of two orders or updates at one moment loses none", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const at = "2026-11-21T06:30:00.000Z";
    const order = (price: string) => ({
      ...{ type: "order", at },
      data: {
        ...{ status: "pending", order_id: "O-1", platform_login: login, type: "limit", symbol: "EURUSD" },
        ...{ side: "buy", lots: "1.00", price },
      },
    });
    expect(said(await source.send(order("1.09"), order("1.08"), order("1.09")))).toEqual([
      ...["applied", "applied", "duplicate"],
    ]);
    const [pending] = (await broker.get(`/accounts/${id}/orders`)).data;
    expect(pending).toMatchObject({ price: "1.08000" });
  });
});

describe("names of positions", () => {
  it("go on under the name that a partial close gives to what is left, and back when it is taken back", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const [first, ...rest] = await source.send(
      opening(login, "100", "100", free),
      closing("100", "100", { lots: "0.40", profit: "4.00", remaining_position_id: "101", ...free }),
      swap("101", "-1.00"),
    );
    expect(said(rest)).toEqual(["applied", "applied"]);
    expect(said(await source.send(swap("100", "-1.00")))).toEqual(["rejected unknown_position"]);
    const whole = closing("101", "101", { profit: "6.00", ...free });
    const [closed] = await source.send(whole);
    expect(closed).toMatchObject({ status: "applied", trade_id: first.trade_id });
    expect(await balanceOf(id)).toBe("10009.00");
    expect(said(await source.send(reversal(login, "R-1", "101"), reversal(login, "R-2", "100")))).toEqual([
      "applied",
      "applied",
    ]);
    const [position] = (await broker.get(`/accounts/${id}/positions`)).data;
    expect(position).toMatchObject({ lots: "1.00" });
    expect(await broker.get(`/trades/${first.trade_id}`)).toMatchObject({ source_trade_id: "100" });
    const [again] = await source.send(closing("102", "100", free));
    expect(again).toMatchObject({ status: "applied", trade_id: first.trade_id });
  });

  it("are refused for what is left where nothing is left, or where another position has the name", async () => {
    const [source, { login }] = [await newSource(), await trader()];
    await source.send(opening(login, "1", "1", free), opening(login, "2", "2", free));
    const results = await source.send(
      closing("3", "1", { remaining_position_id: "9", ...free }),
      closing("4", "1", { lots: "1.00", remaining_position_id: "9", ...free }),
      closing("5", "1", { lots: "0.50", remaining_position_id: "2", ...free }),
      closing("6", "1", { lots: "0.50", remaining_position_id: "1", ...free }),
    );
    expect(said(results)).toEqual([
      ...["rejected validation_failed", "rejected validation_failed", "rejected position_known", "applied"],
    ]);
  });

  it("come again with a later opening once they are closed, and no close before that is taken back", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const results = await source.send(
      opening(login, "1", "P", free),
      closing("2", "P", { profit: "1.00", ...free }),
      opening(login, "3", "P", free),
    );
    expect(said(results)).toEqual(["applied", "applied", "applied"]);
    expect(said(await source.send(opening(login, "4", "P", free)))).toEqual(["rejected position_known"]);
    expect(said(await source.send(reversal(login, "R-1", "2")))).toEqual(["rejected deal_not_reversible"]);
    const [closed] = await source.send(closing("5", "P", { profit: "2.00", ...free }));
    expect(closed.trade_id).toBe(results[2].trade_id);
    const back = await source.send(
      reversal(login, "R-2", "5"),
      reversal(login, "R-3", "3"),
      reversal(login, "R-4", "2"),
    );
    expect(said(back)).toEqual(["applied", "applied", "applied"]);
    const [again] = await source.send(closing("6", "P", { profit: "3.00", ...free }));
    expect(again.trade_id).toBe(results[0].trade_id);
    expect(await balanceOf(id)).toBe("10003.00");
  });
});

describe("a number that was processed", () => {
  it("is a duplicate with its item, and a conflict with another one, which a person can book", async () => {
    const [source, { id, login }] = [await newSource(), await trader()];
    const batch = (...items: { type: string; data: unknown }[]) => ({
      first_seq: "1",
      items: items.map((item, place) => ({ seq: String(place + 1), ...item })),
    });
    const ours = [
      moneyMoved(login, "A-1", "deposit", "1.00"),
      moneyMoved(login, "A-2", "nothing", "2.00"),
      opening(login, "D-1", "NOSUCH", { ...free, symbol: "NOSUCH" }),
    ];
    expect(said(await source.send(...ours))).toEqual([
      ...["applied", "rejected validation_failed", "rejected symbol_not_found"],
    ]);
    const resend = async (...items: typeof ours) => said((await source.raw(batch(...items))).body.results);
    expect(await resend(...ours)).toEqual(["duplicate", "duplicate", "duplicate"]);
    const theirs = [2, 3, 4].map((count) => moneyMoved(login, `B-${count}`, "deposit", `${count}.00`));
    const conflicts = theirs.map(() => "rejected sequence_conflict");
    expect(await resend(...theirs)).toEqual(conflicts);
    const again = await resend(...theirs);
    expect(again.every((each) => each === "duplicate" || each === conflicts[0])).toBe(true);
    expect(await resend(...ours)).toEqual(["duplicate", "duplicate", "duplicate"]);
    expect(await resend(moneyMoved(login, "A-1", "deposit", "9.00"))).toEqual(["rejected deal_conflict"]);
    const rejects = (await source.rejects()) as {
      reject_id: string;
      seq: string;
      code: string;
      item: { data: object };
    }[];
    expect(rejects.map(({ seq, code }) => [seq, code]).toSorted()).toEqual([
      ...[
        ["1", "deal_conflict"],
        ["1", "sequence_conflict"],
      ],
      ...[
        ["2", "sequence_conflict"],
        ["2", "validation_failed"],
      ],
      ...[
        ["3", "sequence_conflict"],
        ["3", "symbol_not_found"],
      ],
    ]);
    for (const reject of rejects.filter(({ code }) => code === "sequence_conflict")) {
      expect((await source.retry(reject.reject_id)).body.status).toBe("applied");
    }
    expect(await balanceOf(id)).toBe("10010.00");
    expect((await source.rejects()).length).toBe(3);
  });

  it("is a duplicate where the item was applied under another number, or comes from before the first one", async () => {
    const [source, { id, login }] = [await newSource({ first_seq: "10" }), await trader()];
    const [one, two] = ["1.00", "2.00"].map((amount) => moneyMoved(login, `A-${amount}`, "deposit", amount));
    await source.send(one as never, two as never);
    const items = [two, one].map((item, place) => ({ seq: String(10 + place), ...item }));
    const swapped = await source.raw({ first_seq: "10", items });
    expect(said(swapped.body.results)).toEqual(["duplicate", "duplicate"]);
    const early = await source.raw({
      first_seq: "3",
      items: [{ seq: "3", ...moneyMoved(login, "Z", "deposit", "9") }],
    });
    expect(said(early.body.results)).toEqual(["duplicate"]);
    expect(await balanceOf(id)).toBe("10003.00");
    expect(await source.rejects()).toEqual([]);
  });
});
