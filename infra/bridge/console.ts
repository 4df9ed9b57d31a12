import type { Bridge } from "./bridge.ts";
import { type SimulatedVenue, VenueRefusal } from "./simulated-venue.ts";

/** The lines that a simulated venue takes. */
export const consoleHelp = `Lines on the standard input act at the simulated venue:
  buy <login> <symbol> <lots>, sell <login> <symbol> <lots>, close <login> <position> [lots]
  move <login> <amount>     money that is moved by hand, negative to take it, and reported
  adjust <login> <amount>   a balance that changes without an operation: the next snapshot shows a drift
  accounts, snapshot`;

const usage = "A line is buy, sell, close, move, adjust, accounts or snapshot; --help shows their forms.";

/** Carries out lines; answers with a sentence. */
export function consoleOf(venue: SimulatedVenue, bridge: Bridge): (line: string) => Promise<string> {
  return async (line) => {
    const [verb, ...words] = line.trim().split(/\s+/);
    try {
      return await act(venue, bridge, verb ?? "", words);
    } catch (error) {
      if (error instanceof VenueRefusal) return error.message;
      return error instanceof Error ? error.message : String(error);
    }
  };
}

async function act(venue: SimulatedVenue, bridge: Bridge, verb: string, words: readonly string[]): Promise<string> {
  const [login, second, third] = words;
  if (verb === "accounts") return JSON.stringify(venue.accounts());
  if (verb === "snapshot")
    return (await bridge.snapshot()) ? "A snapshot was sent." : "The service takes no snapshots.";
  if (login === undefined || second === undefined) return usage;
  if (verb === "move") return `Operation ${(await venue.move(login, second)).operation_id} moved ${second}.`;
  if (verb === "adjust") {
    await venue.adjustSilently(login, second);
    return `The balance changed by ${second} without an operation.`;
  }
  if (verb === "close") return filled(await venue.closePosition(login, second, third));
  if ((verb !== "buy" && verb !== "sell") || third === undefined) return usage;
  return filled(await venue.trade(login, verb, second, third));
}

function filled({ deal_id, side, lots, symbol, price, position_id }: Awaited<ReturnType<SimulatedVenue["trade"]>>) {
  return `Deal ${deal_id}: ${side} ${lots} ${symbol} at ${price}, position ${String(position_id)}.`;
}
