import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Book } from "../../infra/bridge/book.ts";
import { SimulatedVenue } from "../../infra/bridge/simulated-venue.ts";
import type { VenueEvent } from "../../infra/bridge/venue.ts";
import { ServiceClient } from "../../infra/tools/service-client.ts";

const folder = mkdtempSync(join(tmpdir(), "brokerage-venue-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const login = "50012345";
const client = new ServiceClient(
  { base_url: "http://127.0.0.1:9", client_id: "none", client_secret: "none" },
  { tries: 1 },
);

/** A venue on the folder, with the places and operations that it reports. */
async function openVenue(cursor: number, currency = "USD") {
  const venue = await SimulatedVenue.open({ client, folder: join(folder, currency), currency });
  const reported: [number, unknown][] = [];
  await venue.start(cursor, {
    record: ([event], place) => {
      reported.push([place, event?.kind === "money" ? event.money.operation_id : event?.kind]);
    },
    quote: () => undefined,
    fail: () => undefined,
  });
  return { venue, reported };
}

describe("the simulated venue", () => {
  it("refuses anything but a number, so that its events have the same places after a restart", async () => {
    const { venue, reported } = await openVenue(0);
    await venue.move(login, "100.00");
    const mistakes = [
      venue.trade(login, "buy", "EURUSD", "abc"),
      venue.trade(login, "buy", "EURUSD", "-0.10"),
      venue.trade(login, "buy", "EURUSD", "0"),
      venue.adjustSilently(login, "1,5"),
      venue.adjustSilently(login, "0.00"),
      venue.move(login, "ten"),
      venue.move(login, "0"),
    ];
    const codes = (await Promise.allSettled(mistakes)).map((each) => each.status === "rejected" && each.reason.code);
    expect(codes).toEqual([
      ...["invalid_number", "invalid_lots", "invalid_lots"],
      ...["invalid_number", "invalid_amount", "invalid_number", "invalid_amount"],
    ]);
    await venue.move(login, "25.00");
    expect(reported).toEqual([
      [1, "B-1"],
      [2, "B-2"],
    ]);
    await venue.stop();
    const again = await openVenue(1);
    expect(again.reported).toEqual([[2, "B-2"]]);
    expect(again.venue.accounts()).toMatchObject([{ balance: "125.00", positions: [] }]);
    await again.venue.stop();
  });

  it("sets a term of an account and reports it, which changes no balance", async () => {
    const { venue } = await openVenue(0, "EUR");
    const events: unknown[] = [];
    await venue.start(0, { record: (told) => events.push(...told), quote: () => undefined, fail: () => undefined });
    const command = { command_id: "cmd_1", platform_login: login, terms: { leverage: 200 } };
    expect(await venue.setTerms(command)).toEqual({ status: "done", operation_id: "A-1" });
    expect(events).toMatchObject([{ kind: "terms", change: { platform_login: login, terms: { leverage: 200 } } }]);
    const [event] = events as [Exclude<VenueEvent, { kind: "adjusted" }>];
    const data = { platform_login: login, leverage: 200 };
    expect(new Book().itemsOf(event)).toMatchObject([{ type: "account_update", data }]);
    expect(venue.accounts()).toEqual([]);
    await venue.stop();
  });

  it("moves amounts of its currency alone, with its decimals", async () => {
    const { venue } = await openVenue(0, "JPY");
    await expect(venue.move(login, "100.5")).rejects.toMatchObject({ code: "invalid_amount" });
    expect(await venue.move(login, "100")).toMatchObject({ operation_id: "B-1" });
    const dollars = { command_id: "cmd_1", comment: "cmd_1", platform_login: login, amount: "10.00", currency: "USD" };
    expect(await venue.money({ ...dollars, type: "balance_operation" })).toMatchObject({
      ...{ status: "failed", error: { code: "currency_mismatch" } },
    });
    await venue.stop();
    await expect(openVenue(0, "XYZ")).rejects.toThrow('not "XYZ"');
  });
});
