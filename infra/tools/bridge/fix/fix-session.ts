import type { FixConfig, FixEngine, FixFields, FixSent, FixSession, FixStore, FixView } from "./engine.ts";
import type { Gate } from "./gate.ts";
import type { SentNumbers } from "./numbers.ts";

const tag = {
  msgSeqNum: 34,
  beginSeqNo: 7,
  endSeqNo: 16,
  newSeqNo: 36,
  text: 58,
  gapFill: 123,
  resetFlag: 141,
} as const;

/** What a session reports. */
export interface SessionEvents {
  /** There is a connection, and the logon is sent next. When this throws, it is not sent. */
  connected(): void;
  /** The next message in order. When this throws, the message is not passed over: nothing more is taken. */
  taken(type: string, view: FixView): void;
  /** Why the message could not be taken. */
  held(seq: number, type: string, error: unknown): void;
  /** The venue numbers from the beginning again. */
  reset(): void;
  /** The venue logged on with a number that was taken before, which the engine answers by ending the session. */
  behind(seq: number): void;
  ready(): void;
  /** Text of a Logout. */
  loggedOut(text: string): void;
}

/** A session that takes each message once, in order, and repeats none of its own. */
export interface BridgeSession extends FixSession {
  transmit(type: string, fields: FixFields, callback?: FixSent): void;
}

/** The store of the engine: the numbers come from the journal, and no message is kept to be repeated. */
function storeOf(gate: Gate, sent: SentNumbers, sessionId: unknown): FixStore {
  const done = async () => undefined;
  return {
    sessionId,
    creationTime: new Date(),
    get senderSeqNum() {
      return sent.next;
    },
    get targetSeqNum() {
      return gate.next;
    },
    setSenderSeqNum: async (value) => sent.moveTo(value),
    setTargetSeqNum: done,
    nextSenderSeqNum: async () => sent.next,
    nextTargetSeqNum: async () => gate.next,
    put: done,
    get: async () => null,
    getRange: async () => [],
    initialize: done,
    flush: done,
    dispose: done,
    reset: async () => sent.moveTo(1),
  };
}

/** Hands a message on; one that cannot be kept gives its number back, and nothing after it is taken. */
function isKept(gate: Gate, events: SessionEvents, { seq, type, view }: { seq: number; type: string; view: FixView }) {
  try {
    events.taken(type, view);
    return true;
  } catch (error) {
    gate.hold(seq);
    events.held(seq, type, error);
    return false;
  }
}

/** The class of a session on this engine, which is loaded at run time. */
export function sessionClass(engine: FixEngine) {
  const { ActiveNormalSession } = engine.SessionState;

  return class extends engine.AsciiSession implements BridgeSession {
    private readonly gate: Gate;
    private readonly events: SessionEvents;

    constructor(config: FixConfig, gate: Gate, sent: SentNumbers, events: SessionEvents) {
      config.sessionStoreFactory = { create: (id) => storeOf(gate, sent, id) };
      super(config);
      this.gate = gate;
      this.events = events;
    }

    transmit(type: string, fields: FixFields, callback?: FixSent): void {
      this.send(type, fields, callback);
    }

    protected override async onPreLogon(): Promise<void> {
      this.events.connected();
    }

    protected override onMsg(type: string, view: FixView): void {
      const newSeq = view.getString(tag.newSeqNo);
      const seq = Number(view.getString(tag.msgSeqNum));
      const isBehind = type === "A" && seq < this.gate.next && view.getString(tag.resetFlag) !== "Y";
      if (isBehind) this.events.behind(seq);
      const verdict = this.gate.admit({
        type,
        seq,
        ...(newSeq !== null && { newSeq: Number(newSeq) }),
        gapFill: view.getString(tag.gapFill) === "Y",
        reset: view.getString(tag.resetFlag) === "Y",
      });
      if (verdict === "reset") this.events.reset();
      if (verdict === "take" && !isKept(this.gate, this.events, { seq, type, view })) return;
      if (type === "5") this.events.loggedOut(view.getString(tag.text) ?? "");
      super.onMsg(type, view);
    }

    /** The engine ends a session that receives while it repeats or tests; here a message is already taken. */
    protected override checkForwardMsg(): void {
      this.setState(ActiveNormalSession);
    }

    /** Orders of the past are not sent again: what the venue misses is filled as administrative. */
    protected override onResendRequest(view: FixView): void {
      const begin = Number(view.getString(tag.beginSeqNo));
      const asked = Number(view.getString(tag.endSeqNo));
      const next = (asked === 0 ? this.lastSentSeqNum() : Math.min(asked, this.lastSentSeqNum())) + 1;
      const { factory } = this.config;
      const header = factory.header("4", begin, new Date(), { PossDupFlag: true });
      this.send("4", { ...factory.sequenceReset(next, true), StandardHeader: header });
    }

    protected override onApplicationMsg(): void {}
    protected override onReady(): void {
      this.events.ready();
    }
    protected override onStopped(): void {}
    protected override onLogon(): boolean {
      return true;
    }
    protected override onDecoded(): void {}
    protected override onEncoded(): void {}
  };
}
