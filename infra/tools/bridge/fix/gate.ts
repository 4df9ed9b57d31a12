/** What the numbers of a session need to know of a message. */
export interface Numbered {
  /** MsgType (35). */
  readonly type: string;
  /** MsgSeqNum (34). */
  readonly seq: number;
  /** NewSeqNo (36) of a SequenceReset. */
  readonly newSeq?: number;
  /** GapFillFlag (123) of a SequenceReset. */
  readonly gapFill?: boolean;
  /** ResetSeqNumFlag (141) of a Logon. */
  readonly reset?: boolean;
}

/**
 * Decides which messages of a session are taken: each once, in the order of their numbers. The engine hands a message
 * after a gap to the application before those that it asks for again, and may give up asking; what comes after a gap is
 * therefore left for its repetition, and what was never repeated is asked for again at the next logon.
 */
export class Gate {
  /** Number of the next message that is taken. */
  next: number;
  /** Whether a message after a gap was seen since the last one that was taken. */
  hasGap = false;
  private held = false;

  constructor(next: number) {
    this.next = next;
  }

  /** Whether a message is the next one; `reset` when the venue has begun to number from 1 again. */
  admit({ type, seq, newSeq, gapFill = false, reset = false }: Numbered): "take" | "leave" | "reset" {
    if (this.held) return "leave";
    if (type === "A" && reset) return this.moveTo(seq + 1, "reset");
    if (type === "4" && newSeq !== undefined) {
      if (!gapFill) return this.moveTo(newSeq, "reset");
      if (seq <= this.next && newSeq > this.next) this.moveTo(newSeq, "take");
      return "leave";
    }
    if (seq === this.next) return this.moveTo(seq + 1, "take");
    if (seq > this.next) this.hasGap = true;
    return "leave";
  }

  /** Gives the number of a message back that could not be kept, and takes no other, so that it stays the next one. */
  hold(seq: number): void {
    this.next = seq;
    this.held = true;
  }

  private moveTo<T>(next: number, verdict: T): T {
    this.next = next;
    this.hasGap = false;
    return verdict;
  }
}
