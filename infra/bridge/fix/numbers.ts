import { existsSync, readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";

/** Numbers that are reserved at once, and how many are left when more are. */
const reservedAtOnce = 1000;
const leastReserved = 200;

/**
 * The numbers of the messages that a session sends. They are reserved in blocks on the disk before they are used, so
 * that none is used twice: after a crash the session goes on behind the block, and fills the numbers that the venue
 * misses as administrative ones.
 */
export class SentNumbers {
  /** Number of the next message. */
  next: number;
  private readonly path: string;
  private readonly fail: (error: unknown) => void;
  private reserved: number;
  private work: Promise<void> = Promise.resolve();

  constructor(path: string, fail: (error: unknown) => void) {
    this.path = path;
    this.fail = fail;
    this.next = existsSync(path) ? Number(readFileSync(path, "utf8")) : 1;
    this.reserved = this.next;
  }

  /** Reserves the first block. */
  async start(): Promise<void> {
    this.moveTo(this.next);
    await this.work;
  }

  /** The next message has this number. */
  moveTo(next: number): void {
    const isBack = next < this.next;
    this.next = next;
    if (!isBack && this.reserved - next >= leastReserved) return;
    this.reserved = next + reservedAtOnce;
    this.write(this.reserved);
  }

  /** Gives back what was reserved and not used. */
  async stop(): Promise<void> {
    this.write(this.next);
    await this.work;
  }

  private write(number: number): void {
    this.work = this.work.then(() => this.save(number)).catch(this.fail);
  }

  private async save(number: number): Promise<void> {
    const file = await open(`${this.path}.new`, "w", 0o600);
    await file.writeFile(String(number));
    await file.datasync();
    await file.close();
    await rename(`${this.path}.new`, this.path);
  }
}
