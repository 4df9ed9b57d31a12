import { describe, expect, it } from "vitest";
import { newId } from "../../shared/runtime/ids.ts";
import {
  eventId,
  events,
  type Outbox,
  type OwedEndpoint,
  outboxes,
  outboxParts,
  type PublishedEvent,
  publishTries,
} from "../../shared/table/entities.ts";
import { packText } from "../../shared/table/packed/text.ts";
import { readItem } from "../../shared/table/table.ts";
import { itemOf } from "../../shared/table/write.ts";

process.env["STAGE"] = "sandbox";

describe("the schema version of an item", () => {
  const outbox = {
    ...{ id: newId("obx"), tenant_id: newId("brk"), root_id: newId("cli"), root_version: 1, events: ["{}"] },
    ...{ created_at: "2026-11-22T18:00:00.000Z", wake_at: "2026-11-22T18:01:00.000Z" },
  };

  it("is written with every item, and is no member of what is read", () => {
    const item = itemOf(publishTries, { ...outbox, n: 1 });
    expect(item).toMatchObject({ et: "PUBLISHTRIES", v: 1 });
    expect(readItem(item)).toEqual({ ...outbox, n: 1 });
  });

  it.each([
    ["OUTBOX", 2],
    ["ANYTHING", 2],
  ])("of %s that is newer than this code is refused: %i", (et, v) => {
    const read = () => readItem({ pk: "brk_1#acc_1", sk: et, et, v });
    expect(read).toThrow(`The item brk_1#acc_1 ${et} cannot be read: schema version ${v} of ${et} is not known.`);
  });
});

describe("a stored outbox item", () => {
  const texts = [JSON.stringify({ name: "Ana\n" }), "{}"];
  const outbox: Outbox = {
    ...{ id: newId("obx"), tenant_id: newId("brk"), root_id: newId("cli"), root_version: 1, events: texts },
    ...{ created_at: "2026-11-22T18:00:00.000Z", wake_at: "2026-11-22T18:01:00.000Z" },
  };
  const read = (item: Record<string, unknown>) => ({ ...readItem<Outbox>(item), ...outboxes.fromStored(item) });

  it.each([
    ["with its events and what the audit keeps", { ...outbox, audit: "{}" }],
    ["without an entry of the audit", outbox],
    ["without an event", { ...outbox, events: [], audit: "{}" }],
    ["with a trace", { ...outbox, trace_id: "1-5759e988-bd862e3fe1be46a994272793" }],
  ])("is read as it was written %s", (_, item) => {
    const stored = itemOf(outboxes, item);
    expect(stored).toMatchObject({ et: "OUTBOX", v: 1, events: expect.any(Uint8Array) });
    expect(read(stored)).toEqual(item);
  });

  it("may have parts, which are read as they were written", () => {
    const { tenant_id, root_id, id: outbox_id } = outbox;
    const part = { tenant_id, root_id, outbox_id, number: 1, events: texts };
    const stored = itemOf(outboxParts, part);
    expect(stored).toMatchObject({ et: "OUTBOXPART", v: 1, events: expect.any(Uint8Array) });
    expect({ ...readItem<object>(stored), ...outboxParts.fromStored(stored) }).toEqual(part);
  });
});

describe("the endpoints of a stored event", () => {
  it("are read as they were written, in their order, with their epochs", () => {
    const endpoints = [0, 1, 255, 16_777_215].map((epoch) => ({ id: newId("whe"), epoch }));
    const stored = itemOf(events, someEvent(endpoints));
    expect({ ...readItem<PublishedEvent>(stored), ...events.fromStored(stored) }).toEqual(someEvent(endpoints));
  });
});

/** An event that is due to these endpoints. */
function someEvent(endpoints: readonly OwedEndpoint[]): PublishedEvent {
  const tenant_id = "brk_01KAP0000000000000000000G1";
  return {
    ...{ id: eventId(0, "000000", 7), tenant_id, sequence: 7, type: "client.created", resource_id: "cli_1" },
    ...{ account_id: null, client_id: "cli_1", created_at: "2026-11-22T18:00:00.000Z" },
    ...{ published_at: "2026-11-22T18:00:00.000Z", payload: packText("{}"), expires_at: 1, endpoints },
    wake_at: "2026-11-22T18:01:00.000Z",
  };
}
