import { type FixMessage, timeIn } from "./parse.ts";
import type { SessionSettings } from "./session-port.ts";

/** Tags of the session. */
export const tag = {
  ...{ beginSeqNo: 7, endSeqNo: 16, seq: 34, type: 35, newSeq: 36, possDup: 43, refSeq: 45, sender: 49, sent: 52 },
  ...{ target: 56, text: 58, encrypt: 98, heartbeat: 108, testId: 112, origSent: 122, gapFill: 123, reset: 141 },
  ...{ refTag: 371, refType: 372, reason: 373, businessReason: 380, username: 553, password: 554 },
} as const;
const header = [tag.type, tag.sender, tag.target, tag.seq, tag.sent, tag.possDup, tag.origSent];
const sendingTimeSeconds = 120;

/** SessionRejectReason (373). */
export const wrong = { missing: 1, value: 5, format: 6, compId: 9, sendingTime: 10, type: 11, twice: 13 } as const;

/** The fault of a message: the tag, the reason and a text for a Reject. */
export type Fault = readonly [tag: number, code: number, text: string];

/** The fault in the header of a message that has a number and the version of the session. */
export function headerFault(message: FixMessage, settings: SessionSettings, now: number): Fault | undefined {
  const twice = message.repeated(header);
  if (twice !== undefined) return [twice, wrong.twice, `Tag ${twice} appears more than once`];
  const { sender_comp_id, target_comp_id, sending_time_seconds } = settings;
  const names = [[tag.sender, target_comp_id] as const, [tag.target, sender_comp_id] as const];
  for (const [number, expected] of names) {
    const given = message.get(number);
    if (given === undefined) return [number, wrong.missing, `Required tag ${number} is missing`];
    if (given !== expected) return [number, wrong.compId, `CompID problem (${number}=${given})`];
  }
  const sent = timeOf(message, tag.sent);
  if (sent === undefined) return [tag.sent, wrong.missing, "Required tag 52 is missing"];
  if (Number.isNaN(sent)) return [tag.sent, wrong.format, "Incorrect data format of SendingTime (52)"];
  const limit = (sending_time_seconds ?? sendingTimeSeconds) * 1000;
  const first = isRepeated(message) ? timeOf(message, tag.origSent) : undefined;
  const isFar = Math.abs(now - sent) > limit;
  const accuracy = "SendingTime accuracy problem";
  if (isFar) return [tag.sent, wrong.sendingTime, `${accuracy} (52=${message.get(tag.sent)})`];
  if (first === undefined || first <= sent) return undefined;
  return [tag.origSent, wrong.sendingTime, `${accuracy} (122=${message.get(tag.origSent)})`];
}

/** Whether PossDupFlag says that a message is sent again. */
export function isRepeated(message: FixMessage): boolean {
  return message.get(tag.possDup) === "Y";
}

/** A field that has a value which FIX does not allow there. */
export function incorrect(message: FixMessage, number: number): Fault {
  return [number, wrong.value, `Value is incorrect (${number}=${message.get(number) ?? ""})`];
}

/** A whole number; undefined when there is none, or it is not one. */
export function numberIn(message: FixMessage, number: number): number | undefined {
  const text = message.get(number) ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Milliseconds of a time; undefined when there is none, NaN when it cannot be read. */
function timeOf(message: FixMessage, number: number): number | undefined {
  const text = message.get(number);
  return text === undefined ? undefined : Date.parse(timeIn(text)?.replace(/:60(?=[.Z])/, ":59") ?? "");
}
