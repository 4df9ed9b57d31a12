import { limits } from "../../limits.ts";

const [begin, end] = ['{"type":"batch","messages":[', "]}"] as const;
const room = limits.stream.batch_bytes - begin.length - end.length;

/**
 * Packs members, as JSON and in their order, into as few batches as this order allows, none above
 * `limits.stream.batch_bytes` of UTF-8.
 * @throws RangeError for a member that fits no batch
 */
export function batchesOf(members: readonly string[]): string[] {
  const batches: string[][] = [];
  let used = Number.POSITIVE_INFINITY;
  for (const member of members) {
    const bytes = Buffer.byteLength(member);
    if (bytes > room) throw new RangeError(`A member of ${bytes} bytes fits no batch.`);
    // A comma stands before each member but the first one.
    if (used + 1 + bytes > room) {
      batches.push([]);
      used = -1;
    }
    batches.at(-1)?.push(member);
    used += 1 + bytes;
  }
  return batches.map((each) => begin + each.join(",") + end);
}

/** Replaces an event that does not fit: it says how to get the event. */
interface EventReference {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly href: string;
}

/** The member of a batch with an event: the very bytes of `GET /events/{id}`, or their reference if they do not fit. */
export function eventMember(
  subscriptions: readonly string[],
  { id, type, sequence, href }: EventReference,
  payload: string,
): string {
  const head = `{"type":"event","subscriptions":${JSON.stringify(subscriptions)},"sequence":"${sequence}","event":`;
  const whole = `${head}${payload}}`;
  if (Buffer.byteLength(whole) <= room) return whole;
  const reference = { id, object: "event", type, sequence: String(sequence), _links: { self: { href } } };
  return `${head}${JSON.stringify(reference)},"truncated":true}`;
}

/**
 * The member of a batch with the state of a resource, which is JSON already; where it does not fit, its id and link. An
 * account has texts of its owner, which JSON makes longer than their limit.
 */
export function stateMember(
  type: "account" | "quote" | "command",
  subscriptions: readonly string[],
  body: string,
): string {
  const head = `{"type":"${type}","subscriptions":${JSON.stringify(subscriptions)},"${type}":`;
  const whole = `${head}${body}}`;
  if (Buffer.byteLength(whole) <= room) return whole;
  const { id, object, _links } = JSON.parse(body);
  return `${head}${JSON.stringify({ id, object, _links: { self: _links.self } })},"truncated":true}`;
}
