import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { ServiceError } from "../tools/service-client.ts";
import type { Attempt } from "./journal.ts";
import type { BridgeContext } from "./sender.ts";
import type { CommandOutcome, MoneyCommand, Venue, VenueEvent } from "./venue.ts";

/** Commands of one take, and the lease that is asked for. */
const take = { max: 10, lease_seconds: 60 };
const everyMs = 1000;
/**
 * Commands that move money under way at once, each of which may be a process. When there are so many, one command a
 * second is still taken: the service hands those of the risk lane out first, and one of money is given back.
 */
const mostMoney = 16;

/** A command as it is handed out. Payloads differ by type, and new types may come. */
interface TakenCommand {
  readonly id: string;
  readonly type: string;
  readonly platform_login: string;
  readonly attempt: number;
  readonly start_before: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * The key of the last request for commands, kept on the disk before the request is sent: a bridge that dies before it
 * reads the answer asks with the same key and receives the same commands.
 */
class TakeKey {
  private readonly path: string;
  private last: string | undefined;

  constructor(path: string) {
    this.path = path;
    this.last = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  /** The key, with how many commands it asks for: a repeated request must ask for as many. */
  async current(most: number): Promise<{ readonly key: string; readonly max: number }> {
    if (this.last === undefined || this.last === "") await this.renew(most);
    const key = this.last ?? "";
    return { key, max: Number(/-m(\d+)$/.exec(key)?.[1] ?? take.max) };
  }

  private async renew(most: number): Promise<void> {
    this.last = `take-${randomUUID()}-m${most}`;
    const file = await open(this.path, "w", 0o600);
    await file.writeFile(this.last);
    await file.datasync();
    await file.close();
  }

  answered(): void {
    this.last = undefined;
  }
}

/** Outcome of a command, with its event for a venue that does not report money. */
interface CarriedOut {
  readonly outcome: CommandOutcome;
  readonly event?: VenueEvent;
}

/** Takes commands, carries each attempt out at most once, and acknowledges it. */
export class Commands {
  private readonly context: BridgeContext;
  private readonly venue: Venue;
  private readonly key: TakeKey;
  private readonly working = new Set<Promise<void>>();
  private money = 0;

  constructor(context: BridgeContext, venue: Venue, keyPath: string) {
    this.context = context;
    this.venue = venue;
    this.key = new TakeKey(keyPath);
  }

  /** Works until it is stopped. */
  async run(): Promise<void> {
    const { client, journal, path, signal } = this.context;
    for (const attempt of journal.attempts()) this.work(this.resume(attempt));
    while (!signal.aborted) {
      const room = mostMoney - this.money;
      const { key: idempotencyKey, max } = await this.key.current(Math.max(1, Math.min(take.max, room)));
      const reply = await client.call<{ data: readonly TakenCommand[] }>("POST", `${path}/commands/take`, {
        body: { ...take, max },
        idempotencyKey,
        signal,
      });
      const news = reply.body.data.filter(({ id, attempt }) => !journal.has(id, attempt));
      // Attempts are on the disk before they are carried out, and before the key is given up that brings them again.
      await Promise.all(news.map((command) => journal.attempt(startOf(command))));
      for (const command of news) this.work(this.carryOut(command));
      this.key.answered();
      if (news.length === 0 || room <= 0) await pause(everyMs, undefined, { signal });
    }
    await Promise.all(this.working);
  }

  private work(task: Promise<void>): void {
    const { signal, say } = this.context;
    const ended = task.catch((error: unknown) => {
      if (!signal.aborted) say(`A command could not be carried out: ${String(error)}`);
    });
    this.working.add(ended);
    void ended.then(() => this.working.delete(ended));
  }

  /** An attempt that was under way at a crash: a read is repeated, and only the venue may know of anything else. */
  private async resume(attempt: Attempt): Promise<void> {
    const outcome = attempt.outcome ?? this.interrupted(attempt);
    if (attempt.outcome === undefined) await this.context.journal.attempt({ ...attempt, outcome });
    return this.acknowledge(attempt, outcome);
  }

  private interrupted({ type, platform_login, comment }: Attempt): CommandOutcome {
    const error = { code: "bridge_restarted", message: "The bridge stopped while the command was carried out." };
    // A read, and a term that is set twice, are the same as once.
    if (type === "find_operation" || isTerms(type)) return { status: "not_sent", error };
    const known = comment === undefined ? undefined : this.venue.interrupted?.(platform_login, comment);
    return known ?? { status: "unknown", error };
  }

  private async carryOut(command: TakenCommand): Promise<void> {
    const { journal, say } = this.context;
    const started = startOf(command);
    const { outcome, event } = this.isLate(command) ? tooLate : await this.execute(command);
    await journal.attempt({ ...started, outcome }, event);
    say(`Command ${command.id} (${command.type}, login ${command.platform_login}): ${outcome.status}.`);
    await this.acknowledge(started, outcome);
  }

  /** Whether the clock of the service may have passed `start_before`. */
  private isLate({ start_before }: TakenCommand): boolean {
    return this.context.client.latestNow >= Date.parse(start_before);
  }

  private async execute(command: TakenCommand): Promise<CarriedOut> {
    try {
      if (isMoney(command.type)) return await this.withRoom(command, command.type);
      if (isTerms(command.type) && this.venue.setTerms !== undefined) {
        const { id: command_id, platform_login, payload: terms } = command;
        return { outcome: await this.venue.setTerms({ command_id, platform_login, terms }) };
      }
      if (command.type === "close_position" || command.type === "liquidate") return await this.close(command);
    } catch (error) {
      return { outcome: { status: "unknown", error: { code: "bridge_error", message: String(error).slice(0, 500) } } };
    }
    return failed("unsupported_command", `This bridge does not carry out ${command.type}.`);
  }

  private async withRoom(command: TakenCommand, type: MoneyCommand["type"]): Promise<CarriedOut> {
    if (this.money >= mostMoney) return noRoom;
    this.money += 1;
    try {
      return await this.moveMoney(command, type);
    } finally {
      this.money -= 1;
    }
  }

  private async moveMoney(command: TakenCommand, type: MoneyCommand["type"]): Promise<CarriedOut> {
    const { id: command_id, platform_login } = command;
    const { amount, currency, comment } = command.payload as Record<"amount" | "currency" | "comment", string>;
    const outcome = await this.venue.money({ command_id, type, platform_login, amount, currency, comment });
    const { status, operation_id } = outcome;
    const silent = !this.venue.reportsMoney && status === "done" && typeof operation_id === "string";
    if (!silent) return { outcome };
    // The venue does not report money, so the operation is reported as the hook has named it.
    return { outcome, event: { kind: "money", money: { operation_id, platform_login, amount, reference: comment } } };
  }

  private async close(command: TakenCommand): Promise<CarriedOut> {
    const { id: command_id, platform_login, type, payload } = command;
    const position_id = String(payload["position_id"]);
    const position = this.context.journal.book.position(platform_login, position_id);
    if (position === undefined) return failed("position_not_found", `There is no position ${position_id}.`);
    const { symbol, lots } = position;
    const before = payload["lots_before"];
    if (before !== undefined && Number(before) !== Number(lots)) {
      return failed("lots_changed", `The position ${position_id} has ${lots} lots, not ${String(before)}.`);
    }
    const side = position.side === "buy" ? "sell" : "buy";
    const closed = { position_id, symbol, side, lots: String(payload["lots"] ?? lots) } as const;
    const reason = type === "liquidate" ? "stop_out" : "client";
    return { outcome: await this.venue.close({ command_id, platform_login, ...closed, reason }) };
  }

  private async acknowledge(attempt: Attempt, outcome: CommandOutcome): Promise<void> {
    const { client, journal, path, signal, say } = this.context;
    const body = { attempt: attempt.attempt, ...outcome };
    try {
      await client.call("POST", `${path}/commands/${attempt.command_id}/ack`, {
        body,
        // One key for each attempt and status: an acknowledgement that is repeated answers the same.
        idempotencyKey: `ack-${attempt.command_id}-${attempt.attempt}-${outcome.status}`,
        signal,
      });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status === 0) throw error;
      say(`The acknowledgement of ${attempt.command_id} was refused: ${error.message}`);
    }
    await journal.acked(attempt);
  }
}

function startOf({ id, attempt, type, platform_login, payload: { comment } }: TakenCommand): Attempt {
  return { command_id: id, attempt, type, platform_login, ...(typeof comment === "string" && { comment }) };
}

const moneyTypes = ["balance_operation", "credit_operation", "find_operation"] as const;

function isMoney(type: string): type is MoneyCommand["type"] {
  return moneyTypes.some((each) => each === type);
}

function isTerms(type: string): boolean {
  return ["set_leverage", "set_group", "set_account_access"].includes(type);
}

const tooLate: CarriedOut = {
  outcome: { status: "not_sent", error: { code: "too_late", message: "The time to start the command has passed." } },
};

const noRoom: CarriedOut = {
  outcome: { status: "not_sent", error: { code: "bridge_busy", message: "Too many commands of money are under way." } },
};

function failed(code: string, message: string): CarriedOut {
  return { outcome: { status: "failed", error: { code, message } } };
}
