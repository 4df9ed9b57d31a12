/**
 * A venue of the test, as a process that can be killed: an acceptor on the same engine that makes a deal every few
 * milliseconds, keeps each on its disk before it is sent, and repeats what it is asked for.
 * Arguments: port, folder, deals in all, seed.
 */
import { setTimeout as pause } from "node:timers/promises";
import { DurableLog } from "../../durable-log.ts";
import { dictionaryOf, type FixConfig, type FixFields, type FixView, loadEngine, silentLoggers } from "../engine.ts";
import { SentNumbers } from "../numbers.ts";
import { dealOf } from "./deals.ts";

const [port = "0", folder = ".", count = "100", seed = "1"] = process.argv.slice(2);
const everyMs = 15;

const engine = loadEngine(() => undefined);
const { log, records } = await DurableLog.open(`${folder}/venue.jsonl`);
/** Number of the message of each deal that was sent, by the number of the deal. */
const sentAs = new Map<number, number>();
let made = 0;
for (const record of records) {
  if (record["kind"] === "deal") made += 1;
  else sentAs.set(Number(record["deal"]), Number(record["seq"]));
}
const sent = new SentNumbers(`${folder}/venue-sent`, (error) => {
  throw error;
});
await sent.start();

function fieldsOf(deal: number): FixFields {
  const { login, side, lots, price } = dealOf(Number(seed), deal);
  const quantity = Math.round(Number(lots) * 100_000);
  return {
    ...{ OrderID: `O-${deal}`, ExecID: `E-${deal}`, ExecType: "F", OrdStatus: "2", Account: login },
    ...{ Symbol: "EURUSD", Instrument: { Symbol: "EURUSD" }, Side: side === "buy" ? "1" : "2" },
    ...{ LastQty: quantity, LastPx: Number(price), LeavesQty: 0, CumQty: quantity, AvgPx: Number(price) },
    TransactTime: new Date(),
  };
}

let session: VenueSession | undefined;
/** The first deal that this connection has to send. */
let next = 1;

function isSent(deal: number): boolean {
  return sentAs.has(deal);
}

class VenueSession extends engine.AsciiSession {
  constructor(config: FixConfig) {
    let target = 1;
    const done = async () => undefined;
    const store = {
      creationTime: new Date(),
      get senderSeqNum() {
        return sent.next;
      },
      get targetSeqNum() {
        return target;
      },
      setSenderSeqNum: async (value: number) => sent.moveTo(value),
      setTargetSeqNum: async (value: number) => {
        target = value;
      },
      nextSenderSeqNum: async () => sent.next,
      nextTargetSeqNum: async () => target,
      ...{ put: done, get: async () => null, getRange: async () => [], initialize: done, flush: done, dispose: done },
      reset: done,
    };
    config.sessionStoreFactory = { create: (sessionId) => Object.assign(store, { sessionId }) };
    super(config);
  }

  report(deal: number): void {
    const seq = sent.next;
    this.send("8", fieldsOf(deal), (error) => {
      if (error) return;
      sentAs.set(deal, seq);
      void log.append({ kind: "sent", deal, seq });
    });
  }

  protected override onReady(): void {
    session = this;
    next = 1;
    while (isSent(next)) next += 1;
  }

  protected override onStopped(): void {
    if (session === this) session = undefined;
  }

  protected override onResendRequest(view: FixView): void {
    const begin = Number(view.getString(7));
    const deals = new Map([...sentAs].map(([deal, seq]) => [seq, deal]));
    const last = this.lastSentSeqNum();
    let gap: number | undefined;
    const fill = (until: number) => {
      if (gap === undefined) return;
      const header = this.config.factory.header("4", gap, new Date(), { PossDupFlag: true });
      this.send("4", { ...this.config.factory.sequenceReset(until, true), StandardHeader: header });
      gap = undefined;
    };
    for (let seq = begin; seq <= last; seq += 1) {
      const deal = deals.get(seq);
      if (deal === undefined) gap ??= seq;
      else {
        fill(seq);
        const header = this.config.factory.header("8", seq, new Date(), { PossDupFlag: true });
        this.send("8", { ...fieldsOf(deal), StandardHeader: header });
      }
    }
    fill(last + 1);
  }

  protected override checkForwardMsg(): void {}
  protected override onApplicationMsg(): void {}
  protected override onLogon(): boolean {
    return true;
  }
  protected override onDecoded(): void {}
  protected override onEncoded(): void {}
}

const launcher = new (class extends engine.SessionLauncher {
  protected override makeFactory() {
    return { makeSession: (config: FixConfig) => new VenueSession(config) };
  }
})(
  null,
  {
    application: {
      ...{ type: "acceptor", name: "venue", protocol: "ascii", dictionary: dictionaryOf("FIX.4.4") },
      tcp: { host: "127.0.0.1", port: Number(port) },
    },
    ...{ BeginString: "FIX.4.4", SenderCompId: "VENUE", TargetCompID: "BROKERAGE", HeartBtInt: 2, EncryptMethod: 0 },
    ...{ ResetSeqNumFlag: false, BodyLengthChars: 7 },
  },
  silentLoggers,
);
launcher.run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

for (;;) {
  await pause(everyMs);
  if (made < Number(count)) {
    await log.append({ kind: "deal", deal: made + 1 });
    made += 1;
  }
  // One message at a time, in the order of the deals: its number is recorded before the next one is sent.
  if (session !== undefined && next <= made) {
    session.report(next);
    next += 1;
  }
}
