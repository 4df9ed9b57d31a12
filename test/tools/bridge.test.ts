import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { Book } from "../../infra/bridge/book.ts";
import { DurableLog } from "../../infra/bridge/durable-log.ts";
import { Journal } from "../../infra/bridge/journal.ts";
import { moneyHook } from "../../infra/bridge/money-hook.ts";
import { partsOf } from "../../infra/bridge/snapshots.ts";
import { decimalOf, unitsOf } from "../../infra/bridge/units.ts";
import type { Fill, VenueEvent } from "../../infra/bridge/venue.ts";
import { UsageError } from "../../shared/runtime/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-bridge-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `log-${++files}`);

const login = "50012345";
const fill = (deal_id: string, side: "buy" | "sell", lots: string, more: Partial<Fill> = {}): VenueEvent => ({
  kind: "fill",
  fill: { deal_id, platform_login: login, symbol: "EURUSD", side, lots, price: "1.10000", ...more },
});
const money = (operation_id: string, amount: string): VenueEvent => ({
  kind: "money",
  money: { operation_id, platform_login: login, amount },
});

describe("the log of a bridge", () => {
  it("keeps every record that was written, and drops a line that a crash cut off", async () => {
    const path = newFile();
    const { log } = await DurableLog.open(path);
    await Promise.all([log.append({ n: 1 }), log.append({ n: 2 })]);
    await log.append({ n: 3 });
    await log.close();
    appendFileSync(path, '{"n":4,"cut');
    const again = await DurableLog.open(path);
    expect(again.records).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await again.log.append({ n: 4 });
    await again.log.close();
    const last = await DurableLog.open(path);
    expect(last.records).toHaveLength(4);
    await last.log.close();
  });

  it("refuses a file whose other lines are no records", async () => {
    const path = newFile();
    writeFileSync(path, '{"n":1}\nnonsense\n{"n":3}\n');
    await expect(DurableLog.open(path)).rejects.toThrow("line 2 is no record");
  });

  it("is replaced as a whole, and what is added during that follows", async () => {
    const path = newFile();
    const { log } = await DurableLog.open(path);
    await log.append({ n: 1 });
    const replaced = log.replace(() => [{ base: 1 }]);
    await replaced;
    await log.append({ n: 2 });
    await log.close();
    expect(readFileSync(path, "utf8")).toBe('{"base":1}\n{"n":2}\n');
  });

  it("reports a record as written no sooner than the file has it", async () => {
    const path = newFile();
    const { log } = await DurableLog.open(path);
    const written = Array.from({ length: 50 }, (_, n) =>
      log.append({ n }).then(() => readFileSync(path, "utf8").includes(`{"n":${n}}`)),
    );
    expect(await Promise.all(written)).toEqual(written.map(() => true));
    await log.close();
  });
});

describe("the journal of a bridge", () => {
  const source = (expected_next_seq: string, id = "src_1") => ({ id, expected_next_seq });
  const opened: Journal[] = [];
  const open = async (...given: Parameters<typeof Journal.open>) => {
    const journal = await Journal.open(...given);
    opened.push(journal);
    return journal;
  };
  afterEach(async () => {
    for (const journal of opened.splice(0)) await journal.close();
  });

  it("numbers items from where the service is, and holds what was not accepted over a crash", async () => {
    const path = newFile();
    const journal = await open(path, source("918"));
    await journal.record([money("B-1", "100.00"), fill("D-1", "buy", "0.10")], 7);
    expect(journal.unsent(100).items.map(({ seq, data }) => [seq, data["operation_id"] ?? data["deal_id"]])).toEqual([
      ["918", "B-1"],
      ["919", "D-1"],
    ]);
    journal.accept(919n);
    const again = await open(path, source("919"));
    expect(again.cursor).toBe(7);
    expect(again.unsent(100).items.map(({ seq }) => seq)).toEqual(["919"]);
    expect(again.book.stored()).toEqual(journal.book.stored());
  });

  it("records a deal once that the venue reports again under another place", async () => {
    const journal = await open(newFile(), source("1"));
    await journal.record([fill("D-1", "buy", "0.10")], 1);
    await journal.record([fill("D-1", "buy", "0.10"), fill("D-2", "buy", "0.10")], 2);
    expect(journal.unsent(100).items.map(({ data }) => data["deal_id"])).toEqual(["D-1", "D-2"]);
    expect(journal.cursor).toBe(2);
  });

  it("records a deal whose name the venue gave on another day, or to another content", async () => {
    const path = newFile();
    const on = (day: string, lots = "0.10", price = "1.1") =>
      fill("D-1", "buy", lots, { price, at: `${day}T09:00:00.120Z` });
    const [monday, tuesday] = ["2026-11-23", "2026-11-24"];
    const deals = async (...events: VenueEvent[]) => {
      const journal = await open(path, source("1"));
      await journal.record(events);
      await journal.compact();
      return journal.unsent(100).items.map(({ data }) => `${data["deal_id"]} ${data["lots"]}`);
    };
    expect(await deals(on(monday), on(monday, "0.1", "1.10"))).toEqual(["D-1 0.10"]);
    expect(await deals(on(tuesday), on(tuesday), on(monday))).toEqual(["D-1 0.10", "D-1@2026-11-24 0.10"]);
    const [, , ...conflicts] = await deals(on(monday, "0.20"), on(tuesday, "0.30"), on(monday));
    expect(conflicts).toEqual(["D-1 0.20", "D-1@2026-11-24 0.30"]);
    const journal = await open(path, source("1"));
    await journal.record([fill("D-1", "buy", "0.10")]);
    expect(journal.unsent(100).items).toHaveLength(4);
  });

  it("keeps all events of a message with its cursor or none, wherever a crash cuts its record off", async () => {
    const path = newFile();
    const journal = await open(path, source("1"));
    await journal.record([fill("D-0", "buy", "0.10")], 41);
    const before = readFileSync(path).length;
    const adjusted = { kind: "adjusted", platform_login: login, amount: "5.00" } as const;
    await journal.record([fill("D-1", "buy", "0.10"), adjusted, fill("D-2", "sell", "0.30")], 42);
    const whole = readFileSync(path);
    for (let length = before; length <= whole.length; length += 1) {
      const cut = newFile();
      writeFileSync(cut, whole.subarray(0, length));
      const again = await Journal.open(cut, source("1"));
      const deals = again.unsent(100).items.map(({ data }) => data["deal_id"]);
      const all = length === whole.length;
      const expected = all ? [42, "D-0", "D-1", "D-2", "D-2#2", "D-2#3"] : [41, "D-0"];
      expect([again.cursor, ...deals]).toEqual(expected);
      // A repetition by the venue then makes the same journal.
      if (!all) await again.record([fill("D-1", "buy", "0.10"), adjusted, fill("D-2", "sell", "0.30")], 42);
      expect(again.unsent(100)).toEqual(journal.unsent(100));
      expect(again.book.stored()).toEqual(journal.book.stored());
      await again.close();
    }
  });

  it("reads a journal whose events of one message are records of their own", async () => {
    const path = newFile();
    const base = { kind: "base", source_id: "src_1", first_seq: "1", cursor: 0, accepted_book: [] };
    const rest = { names: [], attempts: [], settled: [] };
    const opened = (deal_id: string, first_seq: string) => {
      const data = { action: "open", platform_login: login, deal_id, position_id: deal_id, symbol: "EURUSD" };
      const items = [{ type: "execution", data: { ...data, side: "buy", lots: "0.10", price: "1.1" } }];
      const content = JSON.stringify([login, "EURUSD", "buy", "100000000000", "1100000000000"]);
      const same = `deal:${deal_id} ${content}`;
      return { kind: "items", first_seq, items, names: [`deal:${deal_id}`, same, `${same} `], cursor: 42 };
    };
    const records = [{ ...base, ...rest }, opened("D-1", "1"), opened("D-2", "2"), { kind: "cursor", cursor: 43 }];
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    const journal = await open(path, source("1"));
    await journal.record([fill("D-2", "buy", "0.10"), fill("D-3", "buy", "0.10")], 44);
    expect(journal.unsent(100).items.map(({ data }) => data["deal_id"])).toEqual(["D-1", "D-2", "D-3"]);
    expect(journal.cursor).toBe(44);
  });

  it("records nothing after events that it could not record, so that the venue reports them again", async () => {
    const path = newFile();
    const journal = await open(path, source("1"));
    await journal.record([fill("D-1", "buy", "0.10")], 1);
    const failing = journal.record([fill("D-2", "buy", "0.10"), fill("D-3", "buy", "much")], 2);
    const after = journal.record([fill("D-4", "buy", "0.10")], 3);
    await expect(failing).rejects.toThrow('"much" is no plain decimal');
    await expect(after).rejects.toThrow('"much" is no plain decimal');
    await journal.compact();
    const again = await open(path, source("1"));
    expect([again.cursor, again.unsent(100).items.length]).toEqual([1, 1]);
  });

  it("sends nothing that is not on the disk", async () => {
    const journal = await open(newFile(), source("1"));
    const recorded = journal.record([fill("D-1", "buy", "0.10")], 1);
    expect(journal.unsent(100).items).toEqual([]);
    await recorded;
    expect(journal.unsent(100).items).toHaveLength(1);
  });

  it("knows an attempt also after it was acknowledged and the log was written again", async () => {
    const path = newFile();
    const journal = await open(path, source("1"));
    const attempt = { command_id: "cmd_1", attempt: 1, type: "balance_operation", platform_login: login };
    await journal.attempt(attempt);
    await journal.attempt({ ...attempt, command_id: "cmd_2" });
    await journal.acked(attempt);
    await journal.compact();
    const again = await open(path, source("1"));
    expect([again.has("cmd_1", 1), again.has("cmd_2", 1), again.has("cmd_1", 2)]).toEqual([true, true, false]);
    expect(again.attempts()).toEqual([{ ...attempt, command_id: "cmd_2" }]);
  });

  it("keeps everything when the log is written again without what is settled", async () => {
    const path = newFile();
    const journal = await open(path, source("1"));
    for (let n = 1; n <= 20; n += 1) await journal.record([fill(`D-${n}`, n % 3 === 0 ? "sell" : "buy", "0.10")], n);
    journal.accept(12n);
    await journal.compact();
    const again = await open(path, source("12"));
    expect(again.unsent(100)).toEqual(journal.unsent(100));
    expect([again.book.stored(), again.cursor]).toEqual([journal.book.stored(), 20]);
    expect(again.acceptedBook.stored()).toEqual(journal.acceptedBook.stored());
  });

  it.each([
    ["1", "src_2", "belongs to the feed source src_1, not to src_2"],
    ["9", "src_1", "The service expects item 9 of src_1"],
  ])("refuses to go on where the service expects %s of %s", async (seq, id, sentence) => {
    const path = newFile();
    const journal = await open(path, source("1"));
    await journal.record([fill("D-1", "buy", "0.10")], 1);
    await expect(open(path, source(seq, id))).rejects.toThrow(sentence);
  });
});

describe("the book of a bridge", () => {
  const itemsOf = (book: Book, event: VenueEvent) => {
    if (event.kind === "adjusted") return [];
    const items = book.itemsOf(event);
    for (const item of items) book.apply(item);
    return items.map(({ data: { action, deal_id, position_id, lots } }) =>
      [action, deal_id, position_id, lots].join(" "),
    );
  };

  it("closes the oldest positions of the other side first where the venue names none, and opens what is left", () => {
    const book = new Book();
    itemsOf(book, fill("D-1", "buy", "0.10"));
    itemsOf(book, fill("D-2", "buy", "0.20"));
    expect(itemsOf(book, fill("D-3", "sell", "0.50"))).toEqual([
      "close D-3 D-1 0.10",
      "close D-3#2 D-2 0.20",
      "open D-3#3 D-3#3 0.20",
    ]);
  });

  it("follows the venue where it names positions", () => {
    const book = new Book();
    expect(itemsOf(book, fill("D-1", "buy", "0.10", { position_id: "P-1" }))).toEqual(["open D-1 P-1 0.10"]);
    expect(itemsOf(book, fill("D-2", "sell", "0.10", { position_id: "P-2", effect: "open" }))).toEqual([
      "open D-2 P-2 0.10",
    ]);
    expect(itemsOf(book, fill("D-3", "sell", "0.04", { position_id: "P-1" }))).toEqual(["close D-3 P-1 0.04"]);
    expect(book.position(login, "P-1")).toMatchObject({ lots: "0.06" });
  });

  it("writes amounts without zeros at their end, which a currency without decimals refuses", () => {
    const book = new Book();
    const events = [
      money("B-1", "-100000.00"),
      fill("D-1", "buy", "0.10", { commission: "0.00" }),
      fill("D-2", "sell", "0.10", { profit: "-150.00", commission: "-3.50" }),
    ];
    const amounts = events.flatMap((event) => {
      const items = event.kind === "adjusted" ? [] : book.itemsOf(event);
      for (const item of items) book.apply(item);
      return items.map(({ data: { amount, profit, commission } }) => ({ amount, profit, commission }));
    });
    expect(amounts).toEqual([{ amount: "100000" }, { commission: "0" }, { profit: "-150", commission: "-3.5" }]);
  });

  it("leaves accounts out of a snapshot whose deals carried no money", () => {
    const book = new Book();
    itemsOf(book, money("B-1", "100.00"));
    itemsOf(book, fill("D-1", "buy", "0.10", { commission: "-1.00" }));
    expect(book.snapshot()).toMatchObject([{ balance: "99.00" }]);
    itemsOf(book, fill("D-2", "sell", "0.10", { profit: "2.50" }));
    expect(book.snapshot()).toMatchObject([{ balance: "101.50", positions: [] }]);
    itemsOf(book, fill("D-3", "buy", "0.10"));
    itemsOf(book, fill("D-4", "sell", "0.10"));
    expect(book.snapshot()).toEqual([]);
  });

  it("holds after any fills the lots that were bought less those that were sold", () => {
    const fills = fc.array(fc.tuple(fc.constantFrom("buy", "sell"), fc.integer({ min: 1, max: 500 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(fills, (given) => {
        const book = new Book();
        let net = 0n;
        for (const [place, [side, hundredths]] of given.entries()) {
          const lots = (hundredths / 100).toFixed(2);
          net += (side === "buy" ? 1n : -1n) * unitsOf(lots);
          itemsOf(book, fill(`D-${place}`, side as "buy" | "sell", lots));
        }
        const positions = book.stored().flatMap(({ account }) => account.positions);
        const sum = positions.reduce((held, { side, lots }) => held + (side === "buy" ? 1n : -1n) * unitsOf(lots), 0n);
        expect(decimalOf(sum)).toBe(decimalOf(net));
        expect(new Set(positions.map(({ side }) => side)).size).toBeLessThan(2);
        expect(new Book(book.stored()).stored()).toEqual(book.stored());
      }),
    );
  });

  it("is sent in parts of bounded size without splitting an account", () => {
    const accounts = Array.from({ length: 100 }, (_, n) => {
      return { platform_login: String(n), balance: "0.00", credit: "0.00", positions: [] };
    });
    const parts = partsOf(accounts, 1000);
    expect(parts.flat()).toEqual(accounts);
    expect(parts.length).toBeGreaterThan(5);
    for (const part of parts) expect(JSON.stringify(part).length).toBeLessThan(1100);
    expect(partsOf([])).toEqual([[]]);
  });
});

describe("the hook for money", () => {
  const command = {
    ...({ command_id: "cmd_1", type: "balance_operation", comment: "cmd_1" } as const),
    ...{ platform_login: login, amount: "10.00", currency: "USD" },
  };
  const program = async (script: string) =>
    (await moneyHook({ command: [process.execPath, "-e", script] }, folder))(command);

  it("gives a program the command and takes its outcome", async () => {
    const script = `const c = JSON.parse(require("fs").readFileSync(0));
      console.log(JSON.stringify({ status: "done", operation_id: c.comment + "/" + c.amount }))`;
    expect(await program(script)).toEqual({ status: "done", operation_id: "cmd_1/10.00" });
  });

  it.each([
    ["ends with an error", "process.exit(3)"],
    ["prints no JSON", "console.log('ok')"],
    ["answers no outcome", "console.log('{}')"],
    ["forgets the operation", `console.log('{"status":"done"}')`],
    ["names no operation", `console.log('{"status":"done","operation_id":null}')`],
    ["is killed", "process.kill(process.pid, 'SIGKILL')"],
  ])("knows nothing of a command whose program %s", async (_, script) => {
    expect(await program(script)).toMatchObject({ status: "unknown" });
  });

  it("takes an operation as not found only where the hook says null", async () => {
    const find = async (answer: string) =>
      (await moneyHook({ command: [process.execPath, "-e", `console.log('${answer}')`] }, folder))({
        ...command,
        type: "find_operation",
      });
    expect(await find('{"status":"done","operation_id":null}')).toEqual({ status: "done", operation_id: null });
    expect(await find('{"status":"done"}')).toMatchObject({ status: "unknown" });
  });

  it("names a module that does not exist", async () => {
    await expect(moneyHook({ module: "none.mjs" }, folder)).rejects.toThrow(UsageError);
  });

  it("takes a module in place of a program, and refuses commands without either", async () => {
    writeFileSync(
      join(folder, "hook.mjs"),
      `export const carryOut = async () => ({ status: "done", operation_id: "B-7" });`,
    );
    expect(await (await moneyHook({ module: "hook.mjs" }, folder))(command)).toMatchObject({ operation_id: "B-7" });
    expect(await (await moneyHook(undefined, folder))(command)).toMatchObject({ status: "failed" });
  });
});
