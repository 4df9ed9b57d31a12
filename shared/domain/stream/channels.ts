import type { StreamChannel } from "../../schema/stream/client-messages.ts";
import type { StreamSubscription } from "./subscription.ts";

/** Members of a published event that decide who gets it. */
export interface StreamedEvent {
  readonly sequence: number;
  readonly type: string;
  readonly account_id: string | null;
  /** Identifier of the resource that the event is about. */
  readonly resource_id: string;
}

/** A channel of a subscription by its name. */
export function channelOf<N extends StreamChannel["name"]>(
  { channels }: Pick<StreamSubscription, "channels">,
  name: N,
): Extract<StreamChannel, { name: N }> | undefined {
  return channels.find((each): each is Extract<StreamChannel, { name: N }> => each.name === name);
}

/** Whether a subscription sends an event as such: by its channel `events`. */
export function sendsEvent(subscription: Pick<StreamSubscription, "channels">, event: StreamedEvent): boolean {
  const channel = channelOf(subscription, "events");
  if (channel === undefined) return false;
  if (channel.account_id !== undefined && channel.account_id !== event.account_id) return false;
  return channel.types?.some((pattern) => matchesType(pattern, event.type)) ?? true;
}

/** Whether a type is the one of a pattern: a name, or `transaction.*` for all types of a resource. */
function matchesType(pattern: string, type: string): boolean {
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}

/** The account whose state a subscription sends because of an event; undefined for none. */
export function accountTouched(
  subscription: Pick<StreamSubscription, "channels">,
  { type, account_id }: StreamedEvent,
): string | undefined {
  if (account_id === null) return undefined;
  const listed = channelOf(subscription, "accounts")?.ids.includes(account_id) ?? false;
  const onMargin = channelOf(subscription, "margin") !== undefined && marginTypes.has(type);
  return listed || onMargin ? account_id : undefined;
}

const marginTypes: ReadonlySet<string> = new Set(["margin.call", "margin.recovered", "stop.out"]);

/** The command that a subscription may have to send because of an event, if it is one of its source. */
export function commandTouched(
  subscription: Pick<StreamSubscription, "channels">,
  { type, resource_id }: StreamedEvent,
): string | undefined {
  const isOfCommand = type.startsWith("command.") && channelOf(subscription, "commands") !== undefined;
  return isOfCommand ? resource_id : undefined;
}
