import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "../tools/service-client.ts";
import type { BookAccountBody } from "./book.ts";
import type { BridgeContext } from "./sender.ts";

/** Largest part of a snapshot is 256 KiB; the rest of the body needs less than the difference. */
const mostPartBytes = 240 * 1024;

/** Accounts of one part. */
const mostPartAccounts = 500;

/** Accounts in parts of bounded size, none of which is split. There is always one part. */
export function partsOf(accounts: readonly BookAccountBody[], mostBytes = mostPartBytes): BookAccountBody[][] {
  const parts: BookAccountBody[][] = [[]];
  let bytes = 0;
  for (const account of accounts) {
    const size = Buffer.byteLength(JSON.stringify(account)) + 1;
    if (bytes > 0 && (bytes + size > mostBytes || parts.at(-1)?.length === mostPartAccounts)) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(account);
    bytes += size;
  }
  return parts;
}

/**
 * Sends the book as it is after the last item that the service has accepted, so that both sides can be compared at one
 * number. Returns whether the service takes snapshots.
 */
export async function sendSnapshot({ client, journal, path, signal }: BridgeContext): Promise<boolean> {
  const accounts = journal.acceptedBook.snapshot();
  const as_of_seq = journal.accepted - 1n;
  if (as_of_seq < 1n || accounts.length === 0) return true;
  const taken_at = new Date().toISOString();
  const snapshot_id = `${as_of_seq}-${Date.parse(taken_at)}`;
  const parts = partsOf(accounts);
  for (const [index, part] of parts.entries()) {
    const head = { snapshot_id, taken_at, as_of_seq: String(as_of_seq), part: index + 1, parts: parts.length };
    try {
      // The book knows no account without an item, so it cannot say that one is missing on the platform.
      const body = { ...head, complete: false, accounts: part };
      await client.call("POST", `${path}/snapshots`, { body, signal });
    } catch (error) {
      if (error instanceof ServiceError && error.status === 404) return false;
      throw error;
    }
  }
  return true;
}

/** Sends a snapshot at every interval until it is stopped, or until the service turns out to take none. */
export async function sendSnapshots(context: BridgeContext, everyMs: number | undefined): Promise<void> {
  const { signal, say } = context;
  while (!signal.aborted) {
    await pause(everyMs ?? (await intervalMs(context)), undefined, { signal });
    try {
      if (await sendSnapshot(context)) continue;
      say("The service takes no snapshots: none are sent.");
      return;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status === 0) throw error;
      say(`A snapshot was refused: ${error.message}`);
    }
  }
}

/** Time between two snapshots that the source asks for now, in milliseconds. */
async function intervalMs({ client, path, signal }: BridgeContext): Promise<number> {
  const { body } = await client.call<{ snapshot_interval_seconds: number }>("GET", path, { signal });
  const { snapshot_interval_seconds: seconds } = body;
  return seconds * 1000;
}
