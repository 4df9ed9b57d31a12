import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { FolderLock } from "../folder-lock.ts";
import type { ServiceClient } from "../tools/service-client.ts";
import { Commands } from "./commands.ts";
import { Journal } from "./journal.ts";
import { type BridgeContext, Quotes, sendItems } from "./sender.ts";
import { sendSnapshot, sendSnapshots } from "./snapshots.ts";
import type { Venue } from "./venue.ts";

/** The two ends of a bridge. */
export interface BridgeOptions {
  readonly client: ServiceClient;
  readonly source_id: string;
  readonly venue: Venue;
  /** Folder of the journal; one bridge at a time works on it. */
  readonly folder: string;
  /** Time between two snapshots; what the source asks for where it is absent. */
  readonly snapshotEveryMs?: number;
  readonly say: (sentence: string) => void;
}

/** A bridge that runs. */
export interface Bridge {
  readonly journal: Journal;
  /** Rejects when the bridge cannot go on, for example because its disk is full; resolves when it was stopped. */
  readonly ended: Promise<void>;
  /** Sends a snapshot now; returns whether the service takes snapshots. */
  snapshot(): Promise<boolean>;
  stop(): Promise<void>;
}

/**
 * Connects a venue to its feed source: what happens there is on the disk before it is sent, every item is sent until
 * the service has accepted it, and commands are carried out once.
 * @throws Error when another bridge works on the folder, or the folder belongs to another source
 */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { client, source_id, venue, folder, say } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = await FolderLock.take(join(folder, "pid"), (pid) => {
    return `Another bridge works on this folder (process ${pid}): ${join(folder, "pid")} names it.`;
  });
  const path = `/feed/sources/${source_id}`;
  const stopping = new AbortController();
  const { signal } = stopping;
  let journal: Journal;
  try {
    const source = await client.call<{ id: string; expected_next_seq: string }>("GET", path);
    journal = await Journal.open(join(folder, "journal.jsonl"), source.body);
  } catch (error) {
    lock.release();
    throw error;
  }
  const context: BridgeContext = { client, journal, path, signal, say };
  const quotes = new Quotes();
  let fail: (error: unknown) => void = () => undefined;
  const failure = new Promise<never>((_, reject) => {
    fail = reject;
  });
  await venue.start(journal.cursor, {
    record: (events, cursor) => void journal.record(events, cursor).catch(fail),
    quote: (quote) => quotes.add(quote),
    fail,
  });
  const commands = new Commands(context, venue, join(folder, "take-key"));
  const parts = [
    sendItems(context),
    quotes.send(context),
    commands.run(),
    ...(venue.knowsBalances ? [sendSnapshots(context, options.snapshotEveryMs)] : []),
  ];
  const unlessStopped = (error: unknown) => {
    if (!signal.aborted) throw error;
  };
  const work = Promise.all(parts).then(() => undefined);
  const ended = Promise.race([work, failure]).catch(unlessStopped);
  ended.catch(() => stopping.abort());
  return {
    journal,
    ended,
    snapshot: () => sendSnapshot(context),
    async stop() {
      stopping.abort();
      await Promise.allSettled(parts);
      await venue.stop();
      await journal.close();
      lock.release();
    },
  };
}
