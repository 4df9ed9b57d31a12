import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Unreadable } from "../../infra/bridge/fix/float.ts";
import { type FixMessage, Framer, Garbled } from "../../infra/bridge/fix/parse.ts";
import { Session } from "../../infra/bridge/fix/session.ts";
import type { SessionSettings } from "../../infra/bridge/fix/session-port.ts";
import { bytesOf, stamp, venue } from "../support/fix-bytes.ts";

const now = Date.parse("2026-11-20T09:00:00Z");

/** A session that is logged on, what it sends, and what it takes. */
function sessionAt(next = 5, settings: Partial<SessionSettings> = {}, isLoggedOn = true) {
  const log: string[] = [];
  const taken: number[] = [];
  const clock = { ms: now };
  const incoming = { next };
  const outgoing = {
    next: 1,
    moveTo(value: number) {
      this.next = value;
    },
  };
  const shown = [7, 16, 34, 36, 43, 45, 112, 123, 141, 371, 373, 380, 58, 554];
  let refuses: (message: FixMessage) => void = () => undefined;
  const session = new Session({
    settings: { sender_comp_id: "BROKERAGE", target_comp_id: "VENUE", ...settings },
    ...{ incoming, outgoing, clock: () => clock.ms },
    port: {
      write: (bytes) => {
        for (const message of new Framer().push(Buffer.from(bytes, "latin1"))) {
          if (message instanceof Garbled) throw new Error(`The session sends a garbled message: ${message.reason}`);
          const fields = shown.flatMap((tag) => (message.get(tag) === undefined ? [] : [`${tag}=${message.get(tag)}`]));
          log.push([`35=${message.type}`, ...fields].join("|"));
        }
      },
      end: (reason) => log.push(`end: ${reason}`),
      taken: (message, seq) => {
        refuses(message);
        taken.push(seq);
      },
      held: (_, seq) => log.push(`held ${seq}`),
      reset: (reached) => log.push(`reset ${reached}`),
      ready: () => log.push("ready"),
      loggedOut: (text) => log.push(`logged out: ${text}`),
      say: (sentence) => log.push(`say: ${sentence}`),
    },
  });
  const receive = (...texts: readonly string[]) => {
    log.length = 0;
    session.receive(Buffer.from(texts.join(""), "latin1"));
    return [...log];
  };
  const deal = (seq: number, more = "") => bytesOf(venue("8", { seq, more }));
  session.start();
  if (isLoggedOn) receive(bytesOf(venue("A", { seq: next, more: "98=0|108=30" })));
  return {
    ...{ session, log, taken, incoming, outgoing, clock, receive, deal },
    refuse(by: (message: FixMessage) => void) {
      refuses = by;
    },
  };
}

describe("a session", () => {
  const low = "MsgSeqNum too low, expecting 6 but received 4";
  const origHigh = "43=Y|122=20261120-09:00:01";
  const accuracy = "SendingTime accuracy problem";
  // The names are those of the public acceptance definitions. Each session expects message 6 and has sent its logon.
  it.each<[name: string, text: string, answer: readonly string[], taken: number[], next: number]>([
    ["2b, after a gap", bytesOf(venue("8", { seq: 8 })), ["35=2|7=6|16=0|34=2"], [], 6],
    ["2c, of a low number", bytesOf(venue("8", { seq: 4 })), [`35=5|34=2|58=${low}`, `end: ${low}`], [], 6],
    [
      "2d, that is garbled",
      bytesOf(venue("8", { seq: 6 }), { sum: 3 }) + bytesOf(venue("8", { seq: 7 })),
      ["say: A garbled message of the venue was ignored: its CheckSum (10).", "35=2|7=6|16=0|34=2"],
      [],
      6,
    ],
    ["2e, that was received", bytesOf(venue("8", { seq: 4, more: `43=Y|122=${stamp}` })), [], [], 6],
    ["2e, that was not received", bytesOf(venue("8", { seq: 6, more: `43=Y|122=${stamp}` })), [], [6], 7],
    [
      "2f, that was sent before it was first sent",
      bytesOf(venue("8", { seq: 6, more: origHigh })),
      [
        `35=3|34=2|45=6|371=122|373=10|58=${accuracy} (122=20261120-09:00:01)`,
        `35=5|34=3|58=${accuracy} (122=20261120-09:00:01)`,
        `end: ${accuracy} (122=20261120-09:00:01)`,
      ],
      [],
      6,
    ],
    [
      "2g, that was received and does not say when",
      bytesOf(venue("8", { seq: 4, more: "43=Y" })),
      ["35=3|34=2|45=4|371=122|373=1|58=Required tag 122 is missing"],
      [],
      6,
    ],
    [
      "2i, of another version",
      bytesOf(venue("8", { seq: 6 }), { version: "FIX.4.2" }),
      ["35=5|34=2|58=Incorrect BeginString (8=FIX.4.2)", "end: Incorrect BeginString (8=FIX.4.2)"],
      [],
      6,
    ],
    [
      "2k, of another sender",
      bytesOf(venue("8", { seq: 6, sender: "OTHER" })),
      [
        "35=3|34=2|45=6|371=49|373=9|58=CompID problem (49=OTHER)",
        "35=5|34=3|58=CompID problem (49=OTHER)",
        "end: CompID problem (49=OTHER)",
      ],
      [],
      6,
    ],
    [
      "2k, for another target",
      bytesOf(venue("8", { seq: 6, target: "OTHER" })),
      [
        "35=3|34=2|45=6|371=56|373=9|58=CompID problem (56=OTHER)",
        "35=5|34=3|58=CompID problem (56=OTHER)",
        "end: CompID problem (56=OTHER)",
      ],
      [],
      6,
    ],
    [
      "2m, of another length",
      bytesOf(venue("8", { seq: 6 }), { length: 1 }) + bytesOf(venue("8", { seq: 7 })),
      ["say: A garbled message of the venue was ignored: its BodyLength (9).", "35=2|7=6|16=0|34=2"],
      [],
      6,
    ],
    [
      "2o, of another time",
      bytesOf(venue("8", { seq: 6, sent: "20200101-00:00:00" })),
      [
        `35=3|34=2|45=6|371=52|373=10|58=${accuracy} (52=20200101-00:00:00)`,
        `35=5|34=3|58=${accuracy} (52=20200101-00:00:00)`,
        `end: ${accuracy} (52=20200101-00:00:00)`,
      ],
      [],
      6,
    ],
    [
      "2q, of a type that FIX does not define",
      bytesOf(venue("*", { seq: 6 })),
      ["35=3|34=2|45=6|371=35|373=11|58=Invalid MsgType"],
      [],
      7,
    ],
    [
      "2r, of a type that is not supported",
      bytesOf(venue("B", { seq: 6 })),
      ["35=j|34=2|45=6|380=3|58=Unsupported Message Type"],
      [],
      7,
    ],
    [
      "3b, of another sum",
      bytesOf(venue("8", { seq: 6 }), { sum: 1 }),
      ["say: A garbled message of the venue was ignored: its CheckSum (10)."],
      [],
      6,
    ],
    ["4b, TestRequest", bytesOf(venue("1", { seq: 6, more: "112=hello" })), ["35=0|34=2|112=hello"], [], 7],
    ["8, ResendRequest", bytesOf(venue("2", { seq: 6, more: "7=1|16=0" })), ["35=4|34=1|36=2|43=Y|123=Y"], [], 7],
    ["10, gap fill", bytesOf(venue("4", { seq: 6, more: "123=Y|36=9" })), [], [], 9],
    [
      "10, gap fill that goes back",
      bytesOf(venue("4", { seq: 6, more: "123=Y|36=3" })),
      ["35=3|34=2|45=6|371=36|373=5|58=Value is incorrect (36=3)"],
      [],
      7,
    ],
    ["10, gap fill after a gap", bytesOf(venue("4", { seq: 7, more: "123=Y|36=9" })), ["35=2|7=6|16=0|34=2"], [], 6],
    ["10, gap fill from before", bytesOf(venue("4", { seq: 4, more: "43=Y|123=Y|36=9" })), [], [], 9],
    [
      "11, reset",
      bytesOf(venue("4", { seq: 1, more: "36=40" })),
      ["say: The venue goes on with message 40, by a SequenceReset.", "reset 40"],
      [],
      40,
    ],
    [
      "11, reset that goes back",
      bytesOf(venue("4", { seq: 6, more: "123=N|36=3" })),
      ["35=3|34=2|45=6|371=36|373=5|58=Value is incorrect (36=3)"],
      [],
      6,
    ],
    [
      "13, Logout",
      bytesOf(venue("5", { seq: 6, more: "58=Bye" })),
      ["logged out: Bye", "35=5|34=2", "end: it logged out"],
      [],
      7,
    ],
    [
      "14h, with a tag twice",
      bytesOf(venue("8", { seq: 6, more: "52=20261120-09:00:00" })),
      [
        "35=3|34=2|45=6|371=52|373=13|58=Tag 52 appears more than once",
        "35=5|34=3|58=Tag 52 appears more than once",
        "end: Tag 52 appears more than once",
      ],
      [],
      6,
    ],
    ["19a, PossResend, of a new number", bytesOf(venue("8", { seq: 6, more: "97=Y" })), [], [6], 7],
    [
      "without a number",
      bytesOf(venue("8", { seq: "" })),
      ["35=5|34=2|58=MsgSeqNum (34) is missing or no number", "end: MsgSeqNum (34) is missing or no number"],
      [],
      6,
    ],
    [
      "mid-session, Logon with ResetSeqNumFlag",
      bytesOf(venue("A", { seq: 1, more: "141=Y" })),
      ["say: The venue numbers its messages from 1 again.", "reset 2", "35=A|34=1|141=Y"],
      [],
      2,
    ],
  ])("answers a message %s", (_, text, answer, taken, next) => {
    const session = sessionAt();
    expect(session.receive(text)).toEqual(answer);
    expect([session.taken, session.incoming.next]).toEqual([taken, next]);
  });

  it("accepts a clock that differs by less than its setting", () => {
    const late = bytesOf(venue("8", { seq: 6, sent: "20261120-09:01:59" }));
    expect([sessionAt().receive(late), sessionAt(5, { sending_time_seconds: 60 }).receive(late).length]).toEqual([
      [],
      3,
    ]);
  });

  it("asks once for a gap, and again where a repeated message is missing", () => {
    const { receive, deal, taken, incoming } = sessionAt();
    expect(receive(deal(8), deal(9), deal(10))).toEqual(["35=2|7=6|16=0|34=2"]);
    const again = "43=Y|122=20261120-08:59:59";
    expect(receive(deal(6, again), deal(8, again), deal(11), deal(9, again))).toEqual(["35=2|7=7|16=0|34=3"]);
    expect(receive(deal(10, again), ...[7, 8, 9, 10, 11].map((seq) => deal(seq, again)), deal(12))).toEqual([]);
    expect([taken, incoming.next]).toEqual([[6, 7, 8, 9, 10, 11, 12], 13]);
  });

  it("asks for a second gap that begins while the first is filled, and for one after the numbers begin again", () => {
    const { receive, deal, taken } = sessionAt();
    expect(receive(deal(8))).toEqual(["35=2|7=6|16=0|34=2"]);
    const again = "43=Y|122=20261120-08:59:59";
    // The venue repeats up to 8; of what it sends after that, 9 is garbled.
    expect(receive(deal(10), deal(6, again), deal(7, again), deal(8, again))).toEqual([]);
    expect(receive(deal(11))).toEqual(["35=2|7=9|16=0|34=3"]);
    receive(bytesOf(venue("A", { seq: 1, more: "141=Y" })));
    expect(receive(deal(4))).toEqual(["35=2|7=2|16=0|34=2"]);
    expect(taken).toEqual([6, 7, 8]);
  });

  it("takes every message once and in order, however it is repeated", () => {
    const bursts = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 })), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(bursts, (each) => {
        const { receive, deal, taken, incoming } = sessionAt(1);
        const more = `43=Y|122=${stamp}`;
        for (const [from, length] of each) receive(...Array.from({ length }, (_, at) => deal(from + at, more)));
        expect(taken).toEqual(taken.map((_, place) => place + 2));
        expect(incoming.next).toBe(taken.length + 2);
      }),
    );
  });

  it("rejects prices that it cannot read and goes on, and ends before a deal that it cannot read", () => {
    const { receive, deal, taken, incoming, refuse } = sessionAt();
    refuse(({ type }) => {
      if (type === "W" || type === "AE") throw new Unreadable(270, "x", "is no decimal", 6);
    });
    expect(receive(bytesOf(venue("W", { seq: 6 })), deal(7))).toEqual([
      "35=3|34=2|45=6|371=270|373=6|58=270=x is no decimal",
      "say: Message 6 of the venue (35=W) was rejected: 270=x is no decimal.",
    ]);
    expect(receive(bytesOf(venue("AE", { seq: 8 })), deal(9), bytesOf(venue("A", { seq: 1, more: "141=Y" })))).toEqual([
      "35=3|34=3|45=8|371=270|373=6|58=270=x is no decimal",
      "held 8",
      "35=5|34=4|58=A message cannot be read",
      "end: A message cannot be read",
    ]);
    expect([taken, incoming.next]).toEqual([[7], 8]);
  });

  const asked = "message 5 was expected: ask it to go on, or to reset the numbers.";
  it.each<[string, string, readonly string[], number, number]>([
    ["a Logon", bytesOf(venue("A", { seq: 5 })), ["ready"], 6, 2],
    ["a Logon after a gap", bytesOf(venue("A", { seq: 7 })), ["ready", "35=2|7=5|16=0|34=2"], 5, 3],
    [
      "a Logon with ResetSeqNumFlag, after which its next number is 2",
      bytesOf(venue("A", { seq: 1, more: "141=Y" })),
      ["say: The venue numbers its messages from 1 again.", "reset 2", "ready"],
      2,
      2,
    ],
    [
      "a Logon of a low number",
      bytesOf(venue("A", { seq: 3 })),
      [
        `say: The venue logged on with message 3, and ${asked}`,
        "35=5|34=2|58=MsgSeqNum too low, expecting 5 but received 3",
        "end: MsgSeqNum too low, expecting 5 but received 3",
      ],
      5,
      3,
    ],
    [
      "a Logout",
      bytesOf(venue("5", { seq: 5, more: "58=No" })),
      ["logged out: No", "end: it ended the connection before the logon"],
      6,
      2,
    ],
    ["a deal", bytesOf(venue("8", { seq: 5 })), ["end: it answers the logon with 35=8"], 5, 2],
  ])("is answered its logon by %s", (_, text, answer, next, sent) => {
    const session = sessionAt(5, { username: "me", password: "secret" }, false);
    expect(session.log).toEqual(["35=A|34=1|554=secret"]);
    expect(session.receive(text)).toEqual(answer);
    expect([session.incoming.next, session.outgoing.next, session.taken]).toEqual([next, sent, []]);
  });

  it("tests a silent venue, and ends the session when it does not answer", () => {
    const { session, log, clock, receive } = sessionAt(5, { heartbeat_seconds: 10 });
    const at = (seconds: number) => {
      clock.ms = now + seconds * 1000;
      log.length = 0;
      session.tick();
      return [...log];
    };
    expect([at(9), at(10), at(12), at(13)]).toEqual([[], ["35=0|34=2"], ["35=1|34=3|112=20261120-09:00:12.000"], []]);
    receive(bytesOf(venue("0", { seq: 6, sent: "20261120-09:00:13", more: "112=20261120-09:00:12.000" })));
    expect([at(24), at(36), at(37.1)]).toEqual([
      ["35=0|34=4"],
      ["35=1|34=5|112=20261120-09:00:36.000"],
      ["end: it is silent"],
    ]);
    expect(at(60)).toEqual([]);
  });

  it("ends a session whose logon is not answered, whose gap is not filled, or whose Logout is not answered", () => {
    const unanswered = sessionAt(5, {}, false);
    unanswered.clock.ms += 15_000;
    unanswered.session.tick();
    expect(unanswered.log.at(-1)).toBe("end: it does not answer the logon");
    const { session, log, clock, receive, deal, taken } = sessionAt();
    receive(deal(8));
    clock.ms += 5000;
    session.tick();
    expect(log.at(-1)).toBe("35=5|34=3|58=The venue did not fill a gap.");
    receive(deal(6));
    clock.ms += 1000;
    session.tick();
    expect([log, taken]).toEqual([["end: The venue did not fill a gap."], []]);
  });
});
