/** Words of a path that an event of a resource concerns, by the first word of its type. */
const concerned: Readonly<Record<string, readonly string[]>> = {
  client: ["clients"],
  account: ["accounts"],
  transaction: ["transactions", "accounts"],
  trade: ["trades", "positions", "orders", "accounts"],
  margin: ["accounts"],
  stop: ["accounts"],
  command: ["feed", "transactions", "accounts"],
  drift: ["drift", "feed"],
  feed: ["feed"],
  audit: ["audit_log"],
  operator: ["operators"],
  owner: ["operators"],
  reconciliation: ["reports"],
  job: ["jobs"],
};

/** Resources that every event concerns: the events themselves, and their deliveries. */
const always = ["events", "deliveries", "webhook_endpoints"];

/** Whether an event of a type may change what a path answers; unknown types may change everything. */
export function affectedBy(type: string, path: string): boolean {
  const words = concerned[type.slice(0, type.indexOf("."))];
  if (words === undefined) return true;
  return path.split("/").some((word) => always.includes(word) || words.includes(word));
}

/**
 * Whether nothing changes what a path answers without a message of a channel. Data that moves with prices or with the
 * time, such as a list of positions or of deliveries, is not among it.
 */
export function coveredBy(path: string, channels: ReadonlySet<string>): boolean {
  const [, first, ...rest] = path.split("/");
  if (path === "/accounts/{id}") return channels.has("accounts");
  if (first === "quotes") return channels.has("quotes");
  if (!channels.has("events")) return false;
  if (first === "events" || first === "transactions") return true;
  return first === "clients" && (rest.length < 2 || rest[1] === "transactions");
}

const shortestGapMs = 250;
const longestGapMs = 1_000;
/** A list may lag behind the write that it shows. */
const againMs = 2_000;

/**
 * Collects the types of events: what came first is handed over at once, what follows after gaps that grow to a second,
 * and all of it again when lists have caught up.
 */
export class Bursts {
  private readonly handOver: (types: readonly string[]) => void;
  private types = new Set<string>();
  private later = new Set<string>();
  private gapMs = shortestGapMs;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private laterTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(handOver: (types: readonly string[]) => void) {
    this.handOver = handOver;
  }

  /** Takes the type of an event. */
  add(type: string): void {
    this.types.add(type);
    this.later.add(type);
    if (this.timer === undefined) this.flush();
    clearTimeout(this.laterTimer);
    this.laterTimer = setTimeout(() => {
      const types = [...this.later];
      this.later.clear();
      this.handOver(types);
    }, againMs);
  }

  /** Hands over nothing more. */
  end(): void {
    clearTimeout(this.timer);
    clearTimeout(this.laterTimer);
  }

  private flush(): void {
    const types = [...this.types];
    this.types.clear();
    this.timer = undefined;
    if (types.length === 0) {
      this.gapMs = shortestGapMs;
      return;
    }
    this.handOver(types);
    this.timer = setTimeout(() => this.flush(), this.gapMs);
    this.gapMs = Math.min(longestGapMs, this.gapMs * 2);
  }
}
