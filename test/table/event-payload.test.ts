import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SampleEvent } from "../../shared/domain/webhooks/webhook.ts";
import { samples } from "../../shared/openapi/published-kinds.ts";
import { sha256 } from "../../shared/runtime/digest.ts";
import { newId } from "../../shared/runtime/ids.ts";
import type { PublishedEvent } from "../../shared/table/entities.ts";
import { packPayload, payloadBytes } from "../../shared/table/event-payload.ts";
import { payloadDictionary } from "../../shared/table/packed/dictionary.ts";
import { anyText } from "../support/builders/text.ts";

/** A stored event with this payload. */
function eventWith(text: string, more: Partial<PublishedEvent> = {}): PublishedEvent {
  const [id, resource_id, account_id, client_id] = ["evt", "txn", "acc", "cli"].map((prefix) => newId(prefix));
  const identity = { id, resource_id, account_id, client_id, created_at: new Date().toISOString(), ...more };
  return { ...identity, payload: packPayload(identity as PublishedEvent, text) } as PublishedEvent;
}

describe("the stored payload of an event", () => {
  it("is inflated to the very bytes that were deflated, whatever they are", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), anyText(), fc.constant("")), (text) => {
        const event = eventWith(text);
        expect(Buffer.from(payloadBytes(event)).equals(Buffer.from(text))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it("is the text itself in a sample", () => {
    const text = '{"id":"evt_1","name":"Ünal"}';
    const sample = { id: "evt_1", tenant_id: "brk_1", type: "client.created", payload: text } as SampleEvent;
    expect(Buffer.from(payloadBytes(sample)).toString()).toBe(text);
  });

  it("of an event without an account or a client is read back too", () => {
    const event = eventWith("{}", { account_id: null, client_id: null });
    expect(Buffer.from(payloadBytes({ ...event })).toString()).toBe("{}");
  });

  it("takes less than a third of each published sample", () => {
    for (const [type, sample] of Object.entries(samples)) {
      const text = JSON.stringify(sample);
      expect([type, (eventWith(text).payload.length / text.length) * 3]).toEqual([
        type,
        expect.toSatisfy((x) => x < 1),
      ]);
    }
  });

  it("was deflated with a dictionary that never changes: another one cannot read what is stored", () => {
    expect(sha256(payloadDictionary)).toBe("9d6a77903052834096e7d43b57e9247bf258920d5e6f3f0d3885bd98baf4f170");
  });
});
