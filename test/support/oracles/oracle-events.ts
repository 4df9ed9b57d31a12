import { type Role, scopesOf } from "../../../shared/roles.ts";
import { countOf, groupBy, ofType, text, whole } from "../emulator/raw-items.ts";
import type { RawChange, RawItem } from "../emulator/raw-table.ts";
import { endpointIdsOf } from "./event-items.ts";
import { judgeTradeEvents, oneByOne, orderedEvents } from "./merged-trades.ts";
import type { Announced } from "./oracle-changes.ts";
import { tenantOf } from "./oracle-terms.ts";
import { expectedTradeEvents, judgeMarginEvents, marginKinds } from "./trading-oracle.ts";

/**
 * Every committed change of an announced kind has exactly one event, and no event is without its change. Events are
 * taken from what waits in the outbox and what is published; what should be there follows from the stream.
 */
export function judgeEvents(items: readonly RawItem[], changes: readonly RawChange[]): string[] {
  const ordered = orderedEvents(items);
  const announced = ordered.flat();
  const nameOf = ({ type, resource }: Announced) => `${type} of ${resource.id} at version ${resource.version}`;
  const own = announced.filter(({ type }) => !marginKinds.has(type) && type !== "transaction.unapproved");
  const told = countOf(own.map(nameOf));
  const expected = countOf(oneByOne(changes, announced).flatMap(expectedEvents));
  return [
    ...[...expected].flatMap(([name, count]) =>
      (told.get(name) ?? 0) === count ? [] : [`${name} was announced ${told.get(name) ?? 0} times`],
    ),
    ...[...told.keys()].filter((name) => !expected.has(name)).map((name) => `${name} was announced and did not happen`),
    ...announced
      .filter(({ resource, data }) => data.object["id"] !== resource.id || data.object["version"] !== resource.version)
      .map((event) => `${nameOf(event)} shows another version`),
    ...judgeSequences(items),
    ...judgeTradeEvents(items, changes, ordered),
    ...judgeMarginEvents(announced, items, changes),
  ];
}

/** Every published event has one first delivery for each endpoint it was due to, or is still due; and no other one. */
export function judgeDeliveries(items: readonly RawItem[]): string[] {
  const first = ofType(items, "DELIVERY").filter(
    (item) => whole(item, "redelivery") === 0n && item["event_sequence"] !== null,
  );
  const made = countOf(first.map((item) => `${tenantOf(item)} ${text(item, "event_id")} ${text(item, "endpoint_id")}`));
  const due = new Set<string>();
  const missing = ofType(items, "EVENT").flatMap((item) =>
    endpointIdsOf(item).flatMap((endpoint) => {
      const name = `${tenantOf(item)} ${text(item, "id")} ${endpoint}`;
      due.add(name);
      return made.has(name) || item["due_pk"] !== undefined ? [] : [`${name} is due and has no delivery`];
    }),
  );
  return [
    ...missing,
    ...[...made].filter(([, count]) => count > 1).map(([name]) => `${name} is delivered twice`),
    ...[...made.keys()].filter((name) => !due.has(name)).map((name) => `${name} is delivered and was not due`),
  ];
}

function expectedEvents({ before, after }: RawChange): string[] {
  if (after === undefined) return [];
  const name = (type: string, version = whole(after, "version")) =>
    `${type} of ${text(after, "id")} at version ${version}`;
  const enters = (attribute: string, value: string) => after[attribute] === value && before?.[attribute] !== value;
  const changed = before !== undefined && whole(before, "version") !== whole(after, "version");
  switch (text(after, "et")) {
    case "CLIENT":
      if (before === undefined) return [name("client.created")];
      return [
        ...(enters("verification_status", "verified") || isRenewed(before, after) ? [name("client.verified")] : []),
        ...(changed ? [name("client.updated")] : []),
      ];
    case "ACCOUNT":
      if (before === undefined) return [name("account.created")];
      return changed ? [name("account.updated")] : [];
    case "TXN": {
      const completed = enters("status", "completed");
      return [
        ...(before === undefined ? [name("transaction.created", 1n)] : []),
        ...(completed ? [name("transaction.completed")] : []),
        ...(changed || completed || enters("status", "processing") || begunApproved(before, after)
          ? [name("transaction.updated")]
          : []),
      ];
    }
    case "COMMAND":
      if (before === undefined) return [name("command.issued")];
      return before["done_at"] === null && after["done_at"] !== null ? [name("command.settled")] : [];
    case "DRIFT":
      if (before === undefined) return [name("drift.detected")];
      return enters("status", "resolved") ? [name("drift.resolved")] : [];
    case "OPERATOR":
      // The first owner comes with the brokerage, named by their address, and is announced by nothing.
      if (before === undefined && after["name"] === after["email"]) return [];
      return [
        ...(enters("role", "owner") ? [name("owner.added")] : []),
        ...(before !== undefined && losesRights(before, after) ? [name("operator.ended")] : []),
      ];
    case "AUDITSEAL":
      return before !== undefined && before["day"] !== after["day"] ? [name("audit.sealed")] : [];
    case "BOOKRUN":
      return whole(before ?? {}, "difference_count") <= 0n && whole(after, "difference_count") > 0n
        ? [name("reconciliation.difference_found")]
        : [];
    case "JOB":
      return before?.["completed_at"] === null && after["completed_at"] !== null ? [name("job.completed")] : [];
    case "SOURCE":
      return silenceEvents(before, after).map((type) => name(type));
    case "TRADE":
      if (before === undefined && whole(after, "version") > 1n) return [name("trade.opened", 1n)];
      return expectedTradeEvents(before, after).map((type) => name(type));
    default:
      return [];
  }
}

/** One who was suspended has no rights to lose. */
function losesRights(before: RawItem, after: RawItem): boolean {
  if (text(before, "status") === "suspended") return false;
  if (["suspended", "removed"].includes(text(after, "status"))) return true;
  const [had, has] = [before, after].map((item) => scopesOf(text(item, "role") as Role, "sandbox"));
  return had?.some((scope) => has?.includes(scope) === false) === true;
}

/** A client whose verification had ended, although nothing had stored that, was verified again. */
function isRenewed(before: RawItem | undefined, after: RawItem): boolean {
  const verification = before?.["verification"];
  if (typeof verification !== "object" || verification === null || !("map" in verification)) return false;
  const ended = text((verification as { readonly map: RawItem }).map, "expires_at");
  const [was, is] = [before, after].map((item) => item?.["verification_status"] === "verified");
  return was === true && is === true && ended !== "" && ended <= text(after, "updated_at");
}

/**
 * A source is announced when it falls silent and when it is heard of again, and so are its snapshots, unless the
 * request that ends their lateness says how often they come, or whether they do. A clock that is off is announced, and
 * not its end.
 */
function silenceEvents(before: RawItem | undefined, after: RawItem): readonly string[] {
  const turned = (member: string, [begins, ends]: readonly [string, string]) => {
    const [was, is] = [before?.[member] !== undefined, after[member] !== undefined];
    return was === is ? [] : [is ? begins : ends];
  };
  const isAsked = before?.["snapshots_from"] !== after["snapshots_from"];
  return [
    ...turned("stale_since", ["feed.stale", "feed.recovered"]),
    ...(before?.["clock_off"] === undefined && after["clock_off"] !== undefined ? ["feed.clock_off"] : []),
    ...(isAsked ? [] : turned("snapshots_late_since", ["feed.snapshots_late", "feed.snapshots_resumed"])),
  ];
}

/** A transfer that needs no approval is created approved. */
function begunApproved(before: RawItem | undefined, after: RawItem): boolean {
  return before === undefined && after["status"] === "approved";
}

/** The published events of a tenant are numbered from 1 without a gap, up to where the counter stands. */
function judgeSequences(items: readonly RawItem[]): string[] {
  const counters = new Map(ofType(items, "SEQ").map((item) => [tenantOf(item), whole(item, "last")]));
  const published = groupBy(ofType(items, "EVENT"), tenantOf);
  return [...new Set([...counters.keys(), ...published.keys()])].flatMap((tenant) => {
    const numbers = (published.get(tenant) ?? []).map((item) => whole(item, "sequence"));
    const sorted = numbers.toSorted((a, b) => Number(a - b));
    const gapless = sorted.every((number, index) => number === BigInt(index + 1));
    return gapless && counters.get(tenant) === BigInt(sorted.length) ? [] : [`the events of ${tenant} have a gap`];
  });
}
