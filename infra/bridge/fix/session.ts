import { Unreadable } from "./float.ts";
import { type Fault, headerFault, incorrect, isRepeated, numberIn, tag, wrong } from "./header.ts";
import { encode, type Field, type FixMessage, Framer, Garbled, timestampOf } from "./parse.ts";
import type { Incoming, Outgoing, SessionPort, SessionSettings } from "./session-port.ts";

/** Messages that the session answers itself, and those that are handed on: deals, prices and refusals. */
const administrative = ["0", "1", "2", "5", "A"];
const deals = ["8", "AE"];
const handedOn = [...deals, "W", "X", "3", "j", "Y"];
/** Messages that FIX defines, of which the others are refused as not supported; other types are invalid. */
const defined = /^(?:[0-9A-Za-z]|A[A-Z]|B[A-Z]|C[A-D]|U.+)$/;

const limitsMs = { logon: 15_000, gap: 5000, leaving: 1000 } as const;
/**
 * The side of the initiator of a FIX session over one connection. It takes each message once, in the order of their
 * numbers; what comes after a gap is left, and asked for again with the gap. It repeats no message of its own. Time and
 * bytes come from outside.
 */
export class Session {
  private readonly settings: SessionSettings;
  private readonly incoming: Incoming;
  private readonly outgoing: Outgoing;
  private readonly port: SessionPort;
  private readonly clock: () => number;
  private readonly logonMs: number;
  private readonly framer = new Framer();
  private state: "new" | "logon" | "active" | "leaving" | "over" = "new";
  /** When the state began, a message was sent and received, and the next number moved. */
  private readonly at = { state: 0, sent: 0, heard: 0, moved: 0 };
  private reason = "";
  private isTested = false;
  /** The number from which a gap was asked for, and the one that showed it: up to there the venue repeats at least. */
  private asked: number | undefined;
  private highest = 0;

  constructor(options: {
    readonly settings: SessionSettings;
    readonly incoming: Incoming;
    readonly outgoing: Outgoing;
    readonly port: SessionPort;
    readonly clock?: () => number;
    /** The venue answers a logon within so long. */
    readonly logonMs?: number;
  }) {
    const { settings, incoming, outgoing, port, clock = Date.now, logonMs = limitsMs.logon } = options;
    this.settings = settings;
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.port = port;
    this.clock = clock;
    this.logonMs = logonMs;
  }

  /** Whether the venue has answered the logon, and neither side has ended the session. */
  get isActive(): boolean {
    return this.state === "active";
  }

  /** Logs on, when there is a connection. */
  start(): void {
    this.enter("logon");
    this.at.heard = this.clock();
    this.logOn([]);
  }

  /** Sends a message; returns its number. */
  send(type: string, fields: readonly Field[]): number {
    const seq = this.outgoing.next;
    this.outgoing.moveTo(seq + 1);
    this.write(type, seq, fields);
    return seq;
  }

  /** Logs out, and ends the connection when the venue has answered, or after a second. */
  leave(reason: string): void {
    if (this.state !== "active") {
      this.end(reason);
      return;
    }
    this.logOut(reason);
    this.reason = reason;
    this.enter("leaving");
  }

  /** The connection has ended: nothing is sent any more. */
  ended(): void {
    this.enter("over");
  }

  /** Takes bytes of the venue. */
  receive(bytes: Buffer): void {
    for (const message of this.framer.push(bytes)) {
      if (this.state === "over") return;
      if (message instanceof Garbled)
        this.port.say(`A garbled message of the venue was ignored: its ${message.reason}.`);
      else if (this.state === "leaving") this.whileLeaving(message);
      else this.handle(message);
    }
  }

  /** Does what is due; it is called several times a second. */
  tick(): void {
    const now = this.clock();
    const beat = (this.settings.heartbeat_seconds ?? 30) * 1000;
    const since = now - this.at.state;
    if (this.state === "logon" && since >= this.logonMs) this.end("it does not answer the logon");
    if (this.state === "leaving" && since >= limitsMs.leaving) this.end(this.reason);
    if (this.state !== "active") return;
    const silent = now - this.at.heard;
    if (silent >= 2.4 * beat) {
      this.end("it is silent");
      return;
    }
    if (this.asked !== undefined && now - this.at.moved >= limitsMs.gap) {
      this.leave("The venue did not fill a gap.");
      return;
    }
    if (silent >= 1.2 * beat && !this.isTested) {
      this.isTested = true;
      this.send("1", [[tag.testId, timestampOf(now)]]);
    } else if (now - this.at.sent >= beat) this.send("0", []);
  }

  private handle(message: FixMessage): void {
    const { beginString } = message;
    if (beginString !== (this.settings.begin_string ?? "FIX.4.4")) {
      this.fail(`Incorrect BeginString (8=${beginString})`);
      return;
    }
    const seq = numberIn(message, tag.seq);
    if (seq === undefined) {
      this.fail("MsgSeqNum (34) is missing or no number");
      return;
    }
    const fault = headerFault(message, this.settings, this.clock());
    // The number of such a message is not taken: it is asked for again at the next logon.
    if (fault !== undefined) {
      this.reject(message, seq, fault);
      this.fail(fault[2]);
      return;
    }
    this.at.heard = this.clock();
    this.isTested = false;
    if (message.type === "A" && message.get(tag.reset) === "Y" && !isRepeated(message)) {
      this.renumber(seq);
      return;
    }
    if (this.state === "logon" && !this.isLogon(message, seq)) return;
    if (message.type === "4" && message.get(tag.gapFill) !== "Y") {
      this.reset(message, seq);
      return;
    }
    if (message.type === "5" && !isRepeated(message)) {
      this.loggedOut(message, seq);
      return;
    }
    if (seq < this.incoming.next) {
      this.low(message, seq);
      return;
    }
    // Both are answered also after a gap: the venue may wait for the answer before it fills the gap.
    if (message.type === "2") this.fill(message);
    if (message.type === "1") this.send("0", [[tag.testId, message.get(tag.testId) ?? ""]]);
    if (seq > this.incoming.next) {
      this.gap(message, seq);
      return;
    }
    if (this.isTaken(message, seq) && this.incoming.next === seq) this.moveTo(seq + 1);
  }

  /** Takes the answer to the logon; anything else ends the connection. */
  private isLogon(message: FixMessage, seq: number): boolean {
    const { type } = message;
    const text = message.get(tag.text);
    if (type === "5") {
      if (seq === this.incoming.next) this.moveTo(seq + 1);
      this.port.loggedOut(text ?? "");
      this.end("it ended the connection before the logon");
    } else if (type !== "A") this.end(`it answers the logon with 35=${type}${text === undefined ? "" : `: ${text}`}`);
    else if (seq < this.incoming.next) {
      const expected = `message ${this.incoming.next} was expected`;
      this.port.say(
        `The venue logged on with message ${seq}, and ${expected}: ask it to go on, or to reset the numbers.`,
      );
      this.fail(`MsgSeqNum too low, expecting ${this.incoming.next} but received ${seq}`);
    } else {
      this.enter("active");
      this.port.ready();
      return true;
    }
    return false;
  }

  /** Logon with ResetSeqNumFlag: both sides begin again at 1, which is the number of their logons. */
  private renumber(seq: number): void {
    if (seq !== 1) {
      this.fail(`A Logon with ResetSeqNumFlag has the number 1, not ${seq}`);
      return;
    }
    const isAnswer = this.state === "logon";
    if (this.incoming.next > 1) this.port.say("The venue numbers its messages from 1 again.");
    this.highest = 0;
    this.moveTo(2);
    this.port.reset(2);
    this.outgoing.moveTo(isAnswer ? 2 : 1);
    if (!isAnswer) {
      this.logOn([[tag.reset, "Y"]]);
      return;
    }
    this.enter("active");
    this.port.ready();
  }

  /** SequenceReset without GapFillFlag: an operator of the venue gives up what is before. */
  private reset(message: FixMessage, seq: number): void {
    const next = numberIn(message, tag.newSeq);
    if (next === undefined || next < this.incoming.next) {
      this.reject(message, seq, incorrect(message, tag.newSeq));
      return;
    }
    if (next > this.incoming.next) this.port.say(`The venue goes on with message ${next}, by a SequenceReset.`);
    this.moveTo(next);
    this.port.reset(next);
  }

  /** A message that was taken before. */
  private low(message: FixMessage, seq: number): void {
    if (!isRepeated(message)) {
      this.fail(`MsgSeqNum too low, expecting ${this.incoming.next} but received ${seq}`);
      return;
    }
    const next = message.type === "4" ? (numberIn(message, tag.newSeq) ?? 0) : 0;
    if (next > this.incoming.next) this.moveTo(next);
    else if (message.type !== "4" && message.get(tag.origSent) === undefined) {
      this.reject(message, seq, [tag.origSent, wrong.missing, "Required tag 122 is missing"]);
    }
  }

  /**
   * Asks for what is missing, once: the venue repeats everything up to then. A repeated message that comes after
   * another gap shows that one of the repeated messages is missing.
   */
  private gap(message: FixMessage, seq: number): void {
    const { next } = this.incoming;
    if (this.asked === next || (this.asked !== undefined && !isRepeated(message))) return;
    this.asked = next;
    this.highest = Math.max(this.highest, seq);
    this.at.moved = this.clock();
    this.send("2", [
      [tag.beginSeqNo, String(next)],
      [tag.endSeqNo, "0"],
    ]);
  }

  /** Handles the next message in order; returns whether its number is taken. */
  private isTaken(message: FixMessage, seq: number): boolean {
    const { type } = message;
    if (type === "4") return this.isGapFilled(message, seq);
    if (administrative.includes(type)) return true;
    if (!handedOn.includes(type)) {
      this.refuse(message, seq);
      return true;
    }
    try {
      this.port.taken(message, seq);
      return true;
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error);
      if (error instanceof Unreadable) this.reject(message, seq, [error.tag, error.code, sentence]);
      if (error instanceof Unreadable && !deals.includes(type)) {
        this.port.say(`Message ${seq} of the venue (35=${type}) was rejected: ${sentence}.`);
        return true;
      }
      this.port.held(message, seq, error);
      this.fail("A message cannot be read");
      return false;
    }
  }

  private isGapFilled(message: FixMessage, seq: number): boolean {
    const next = numberIn(message, tag.newSeq) ?? 0;
    if (next > seq) this.moveTo(next);
    else this.reject(message, seq, incorrect(message, tag.newSeq));
    return next <= seq;
  }

  /** Answers a message of a type that FIX does not define by a Reject, and another by a BusinessMessageReject. */
  private refuse(message: FixMessage, seq: number): void {
    const { type } = message;
    if (!defined.test(type)) {
      this.reject(message, seq, [tag.type, wrong.type, "Invalid MsgType"]);
      return;
    }
    this.send("j", [
      [tag.refSeq, String(seq)],
      [tag.refType, type],
      [tag.businessReason, "3"],
      [tag.text, "Unsupported Message Type"],
    ]);
  }

  private loggedOut(message: FixMessage, seq: number): void {
    if (seq === this.incoming.next) this.moveTo(seq + 1);
    this.port.loggedOut(message.get(tag.text) ?? "");
    this.logOut("");
    this.end("it logged out");
  }

  private whileLeaving(message: FixMessage): void {
    if (message.type === "5") this.end(this.reason);
  }

  /** Orders of the past are not sent again: what the venue misses is filled as administrative. */
  private fill(message: FixMessage): void {
    const from = numberIn(message, tag.beginSeqNo) ?? 1;
    const until = numberIn(message, tag.endSeqNo) ?? 0;
    const next = until === 0 ? this.outgoing.next : Math.min(until + 1, this.outgoing.next);
    if (from >= next) return;
    this.write("4", from, [
      [tag.gapFill, "Y"],
      [tag.newSeq, String(next)],
    ]);
  }

  private logOn(more: readonly Field[]): void {
    const { username, password, heartbeat_seconds = 30 } = this.settings;
    this.send("A", [
      [tag.encrypt, "0"],
      [tag.heartbeat, String(heartbeat_seconds)],
      ...more,
      ...(username === undefined ? [] : [[tag.username, username] as const]),
      ...(password === undefined ? [] : [[tag.password, password] as const]),
    ]);
  }

  private logOut(text: string): void {
    this.send("5", text === "" ? [] : [[tag.text, text]]);
  }

  private reject(message: FixMessage, seq: number, [number, code, text]: Fault): void {
    this.send("3", [
      [tag.refSeq, String(seq)],
      [tag.refTag, String(number)],
      [tag.refType, message.type],
      [tag.reason, String(code)],
      [tag.text, text],
    ]);
  }

  /** Ends the session, and gives the venue the reason. */
  private fail(reason: string): void {
    this.logOut(reason);
    this.end(reason);
  }

  private end(reason: string): void {
    if (this.state === "over") return;
    this.enter("over");
    this.port.end(reason);
  }

  private enter(state: Session["state"]): void {
    this.state = state;
    this.at.state = this.clock();
  }

  private moveTo(next: number): void {
    this.incoming.next = next;
    this.at.moved = this.clock();
    if (next > this.highest) this.asked = undefined;
  }

  /** Writes a message. Only a gap fill has a number that was used before. */
  private write(type: string, seq: number, fields: readonly Field[]): void {
    const { begin_string = "FIX.4.4", sender_comp_id, target_comp_id } = this.settings;
    const now = timestampOf(this.clock());
    this.at.sent = this.clock();
    this.port.write(
      encode(begin_string, [
        [tag.type, type],
        [tag.sender, sender_comp_id],
        [tag.target, target_comp_id],
        [tag.seq, String(seq)],
        ...(type === "4" ? [[tag.possDup, "Y"] as const, [tag.origSent, now] as const] : []),
        [tag.sent, now],
        ...fields,
      ]),
    );
  }
}
