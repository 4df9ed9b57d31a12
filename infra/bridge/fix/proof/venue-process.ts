/**
 * A venue of the test, as a process that can be killed: an acceptor that makes a deal every few milliseconds, keeps
 * each on its disk before it is sent, and repeats what it is asked for. It reports every third deal in two forms, as an
 * execution report and as a trade capture report, of which either may be the first.
 * Arguments: port, folder, deals in all, seed.
 */
import { createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { DurableLog } from "../../durable-log.ts";
import { SentNumbers } from "../numbers.ts";
import { encode, type Field, type FixMessage, Framer, Garbled, timestampOf } from "../parse.ts";
import { dealOf } from "./deals.ts";

const [port = "0", folder = ".", count = "100", seed = "1"] = process.argv.slice(2);
const everyMs = 15;
const heartbeatMs = 1000;

/** Report of a deal. */
interface Report {
  readonly deal: number;
  readonly type: string;
}

const { log, records } = await DurableLog.open(`${folder}/venue.jsonl`);
/** The reports of the deals, in their order, and by the numbers under which they were sent. */
const reports: Report[] = [];
const sentAs = new Map<number, Report>();
let made = 0;
/** How many reports were sent. */
let sentReports = 0;

function make(deal: number): void {
  made = deal;
  const types = deal % 3 > 0 ? ["8"] : deal % 2 > 0 ? ["8", "AE"] : ["AE", "8"];
  for (const type of types) reports.push({ deal, type });
}

for (const record of records) {
  if (record["kind"] === "deal") make(made + 1);
  else {
    sentAs.set(Number(record["seq"]), reports[sentReports] as Report);
    sentReports += 1;
  }
}
const sent = new SentNumbers(`${folder}/venue-sent`, (error) => {
  throw error;
});
await sent.start();

function fieldsOf({ deal, type }: Report): Field[] {
  const { login, side, lots, price } = dealOf(Number(seed), deal);
  const quantity = String(Math.round(Number(lots) * 100_000));
  const common: Field[] = [
    [880, `M-${deal}`],
    [55, "EURUSD"],
    [32, quantity],
    [31, price],
    [60, "20261120-09:00:00.000"],
  ];
  const ofSide: Field[] = [
    [54, side === "buy" ? "1" : "2"],
    [1, login],
  ];
  if (type === "AE") return [[571, `T-${deal}`], ...common, [552, "1"], ...ofSide];
  return [
    [37, `O-${deal}`],
    [17, `E-${deal}`],
    [150, "F"],
    [39, "2"],
    [151, "0"],
    [14, quantity],
    ...common,
    ...ofSide,
  ];
}

function write(socket: Socket, type: string, seq: number, fields: readonly Field[], isRepeated = false): void {
  const now = timestampOf(Date.now());
  const repeated: Field[] = [
    [43, "Y"],
    [122, now],
  ];
  const header: Field[] = [
    [35, type],
    [49, "VENUE"],
    [56, "BROKERAGE"],
    [34, String(seq)],
    [52, now],
  ];
  socket.write(encode("FIX.4.4", [...header, ...(isRepeated ? repeated : []), ...fields]), "latin1");
}

function send(socket: Socket, type: string, fields: readonly Field[]): number {
  const seq = sent.next;
  sent.moveTo(seq + 1);
  write(socket, type, seq, fields);
  return seq;
}

/** Repeats the reports, and fills what was administrative. */
function repeat(socket: Socket, begin: number): void {
  let from = begin;
  const fill = (until: number) => {
    if (from < until) write(socket, "4", from, [[123, "Y"] as const, [36, String(until)] as const], true);
  };
  for (let seq = begin; seq < sent.next; seq += 1) {
    const report = sentAs.get(seq);
    if (report === undefined) continue;
    fill(seq);
    write(socket, report.type, seq, fieldsOf(report), true);
    from = seq + 1;
  }
  fill(sent.next);
}

let session: Socket | undefined;

function answer(socket: Socket, message: FixMessage): void {
  if (message.type === "A") {
    send(socket, "A", [
      [98, "0"],
      [108, String(heartbeatMs / 1000)],
    ]);
    session = socket;
  }
  if (message.type === "1") send(socket, "0", [[112, message.get(112) ?? ""]]);
  if (message.type === "2") repeat(socket, Number(message.get(7)));
  if (message.type === "5") socket.end();
}

createServer((socket) => {
  const framer = new Framer();
  socket.on("error", () => undefined);
  socket.on("close", () => {
    if (session === socket) session = undefined;
  });
  socket.on("data", (bytes) => {
    for (const message of framer.push(bytes)) if (!(message instanceof Garbled)) answer(socket, message);
  });
}).listen(Number(port), "127.0.0.1");

setInterval(() => {
  if (session !== undefined) send(session, "0", []);
}, heartbeatMs);

for (;;) {
  await pause(everyMs);
  if (made < Number(count)) {
    await log.append({ kind: "deal" });
    make(made + 1);
  }
  const report = reports[sentReports];
  if (session === undefined || report === undefined) continue;
  const seq = send(session, report.type, fieldsOf(report));
  sentAs.set(seq, report);
  sentReports += 1;
  // Its number is on the disk before the next report is sent: one that was not is sent again under another number.
  await log.append({ kind: "sent", seq });
}
