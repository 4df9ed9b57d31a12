import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawPersonKey, openWith, sealFor } from "../../shared/runtime/person-key.ts";
import { openValues, originFor, sealedChange } from "../../shared/table/audit/sealing.ts";
import { anyText } from "../support/builders/text.ts";

const [own, other] = [drawPersonKey(), drawPersonKey()];

describe("a text that is sealed for a person", () => {
  it("is opened by their private key, whatever it says, and is another one each time", () => {
    fc.assert(
      fc.property(anyText(), fc.string(), (plain, aad) => {
        const [first, second] = [sealFor(own.public_key, plain, aad), sealFor(own.public_key, plain, aad)];
        expect([openWith(own.private_key, first, aad), openWith(own.private_key, second, aad)]).toEqual([plain, plain]);
        expect(first).not.toBe(second);
        expect(first).toMatch(/^v1\.[\w-]+$/);
      }),
      { numRuns: 30 },
    );
  });

  it("is opened by no other key, for no other place, and not after any change of a byte", () => {
    const sealed = sealFor(own.public_key, "Ana Silva", "place");
    expect(() => openWith(other.private_key, sealed, "place")).toThrow();
    expect(() => openWith(own.private_key, sealed, "elsewhere")).toThrow();
    const bytes = Buffer.from(sealed.slice(3), "base64url");
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => openWith(own.private_key, `v1.${changed.toString("base64url")}`, "place")).toThrow();
    }
    for (const form of ["", "v1.", "v2.AAAA", sealed.slice(0, 40), sealed.slice(3)]) {
      expect(() => openWith(own.private_key, form, "place")).toThrow();
    }
  });

  it("is not opened by what seals it", () => {
    const sealed = sealFor(own.public_key, "Ana Silva", "place");
    expect(() => openWith(own.public_key, sealed, "place")).toThrow();
    expect(() => openWith(`${other.private_key.split(".")[0]}.${own.public_key}`, sealed, "place")).toThrow();
  });
});

describe("the values of an entry", () => {
  const tenant = "brk_1";
  const call = {
    ...{ action: "update_client", ip: "203.0.113.7", user_agent: null },
    actor: { type: "operator", id: "opr_1", name: "Ana" },
  } as const;

  it("of an operator are sealed, and those of an application stay", () => {
    const origin = originFor(tenant, call, own.public_key);
    expect(origin).toMatchObject({ actor: { id: "opr_1", name: "[sealed]" }, ip: "[sealed]", user_agent: null });
    const [sealed] = origin.sealed ?? [];
    if (sealed === undefined) throw new Error("Nothing was sealed.");
    expect(sealed).toMatchObject({ person: "opr_1", members: ["/actor/name", "/ip"] });
    expect(openValues(tenant, sealed, own.private_key)).toEqual(["Ana", "203.0.113.7"]);
    expect(() => openValues("brk_2", sealed, own.private_key)).toThrow();
    expect(() => openValues(tenant, { ...sealed, person: "opr_2" }, own.private_key)).toThrow();
    expect(() => openValues(tenant, { ...sealed, members: sealed.members.toReversed() }, own.private_key)).toThrow();
    const application = { ...call, actor: { type: "application", id: "app_1", name: "CRM" } } as const;
    const { actor: _actor, ...plain } = application;
    expect(originFor(tenant, application, undefined)).toEqual(plain);
  });

  it("of a person without a key are erased", () => {
    const { sealed, ...origin } = originFor(tenant, call, undefined);
    expect(sealed).toBeUndefined();
    expect(origin).toMatchObject({ actor: { name: "[erased]" }, ip: "[erased]", user_agent: null });
    const changes = [
      { resource: { type: "client", id: "cli_1" }, before: null, after: { email: "a@b.co", version: 1 } },
    ];
    const { changes: kept, sealed: none } = sealedChange(tenant, { changes }, () => undefined);
    expect([kept[0]?.after, none]).toEqual([{ email: "[erased]", version: 1 }, []]);
  });
});
