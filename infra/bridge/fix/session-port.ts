import type { FixMessage } from "./parse.ts";

/** Terms of a session with the venue. */
export interface SessionSettings {
  /** Version of FIX: `FIX.4.4` by default, or `FIX.4.2`. */
  readonly begin_string?: "FIX.4.2" | "FIX.4.4";
  readonly sender_comp_id: string;
  readonly target_comp_id: string;
  readonly username?: string;
  readonly password?: string;
  readonly heartbeat_seconds?: number;
  /** How far the clock of the venue may be from ours. */
  readonly sending_time_seconds?: number;
}

/** Surroundings of a session. */
export interface SessionPort {
  /** Sends bytes, one for each character. */
  write(bytes: string): void;
  /** Ends the connection. */
  end(reason: string): void;
  /** The next message in order. When this throws a deal is not passed over: nothing more is taken. */
  taken(message: FixMessage, seq: number): void;
  /** Why a deal could not be taken. */
  held(message: FixMessage, seq: number, error: unknown): void;
  /** The venue goes on with this number, without the messages before it. */
  reset(next: number): void;
  ready(): void;
  /** Text of a Logout. */
  loggedOut(text: string): void;
  /** Something that a person should know. */
  say(sentence: string): void;
}

/** The number of the next message that is taken; like the other it outlives the connection. */
export interface Incoming {
  next: number;
}

/** The number of the next message that is sent. */
export interface Outgoing {
  readonly next: number;
  moveTo(next: number): void;
}
