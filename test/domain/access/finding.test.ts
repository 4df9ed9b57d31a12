import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { amendClient } from "../../../shared/domain/accounts/client.ts";
import { foldedEmail, foldedName, namesOf, wantedBy } from "../../../shared/domain/accounts/finding.ts";
import { accepted, changesOf, decisionContext, someClient } from "../../support/builders/decisions.ts";
import { modelFold } from "../../support/model/client-search.ts";

describe("a folded name", () => {
  it.each([
    ["İlker IŞIK", "ilker isik"],
    ["Ilker Isik", "ilker isik"],
    ["Müller", "muller"],
    ["O'Brien", "obrien"],
    ["O’Brien-Łuczak", "obrien luczak"],
    ["  Straße   7 ", "strasse 7"],
    ["ΟΔΥΣΣΕΥΣ", "οδυσσευσ"],
    ["Þórður Æsir", "thordur aesir"],
    ["Алёна Зайцев", "алена заицев"],
    ["أحمد مُحَمَّد", "احمد محمد"],
    ["伟 李", "伟李"],
    ["김 민수", "김민수".normalize("NFKD")],
    ["می\u200cخواهم", "میخواهم"],
    ["ＡＢＣ　１２", "abc 12"],
    ["𠮷田 太郎", "𠮷田太郎"],
    ["--- &", ""],
  ])("of %s is %s", (text, folded) => {
    expect(foldedName(text)).toBe(folded);
  });

  it("is what the model makes of it, sign by sign, of any text", () => {
    const sign = fc.constantFrom(..."aZ Ié'’ßØđŁæŒþıİςΣ李伟김かカْأيЙ-._@+1٣ﬁﷺ\u200c\ufe0f\u0301𠮷");
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: sign }), fc.string({ unit: "binary" })), (text) => {
        expect([foldedName(text), foldedEmail(text)]).toEqual([modelFold(text, false), modelFold(text, true)]);
      }),
      { numRuns: 2000, seed: 51 },
    );
  });
});

describe("what a search looks for", () => {
  it.each(["", "a", " - ", "李", "é", "+3", `a${"b".repeat(64)}`, "@"])("is nothing in %j", (text) => {
    expect(wantedBy(text)).toBeUndefined();
  });

  it.each([
    ["Ana S", { name: "ana s", last_first: "ana s", last_word: "ana s", email: "ana s" }],
    ["Ana@Ex", { email: "ana@ex" }],
    ["+35", { name: "35", last_first: "35", last_word: "35", email: "+35", phone: "35" }],
    [
      "100 2",
      { name: "100 2", last_first: "100 2", last_word: "100 2", email: "100 2", phone: "1002", number: "1002" },
    ],
  ])("by %s", (text, wanted) => {
    expect(wantedBy(text)).toEqual(wanted);
  });
});

describe("the texts of a client", () => {
  it.each([
    [
      { first_name: "Ana Maria", last_name: "Silva Santos" },
      { name: "ana maria silva santos", last_first: "silva santos ana maria", last_word: "santos" },
    ],
    [
      { first_name: "Ana", last_name: "Silva" },
      { name: "ana silva", last_first: "silva ana" },
    ],
    [
      { company_name: "Nord & Süd Handels GmbH", first_name: null, last_name: null },
      { name: "nord sud handels gmbh", last_word: "gmbh" },
    ],
    [{ first_name: "???", last_name: "!" }, {}],
    [
      { first_name: "x".repeat(80), last_name: "y" },
      { name: "x".repeat(64), last_first: `y ${"x".repeat(62)}` },
    ],
  ])("are those of %j", (names, texts) => {
    const client = someClient({ email: "Ann@example.com", ...names });
    expect(namesOf(client)).toEqual({ ...texts, email: "ann@example.com" });
  });

  it.each([
    ["another first name", { first_name: "Bea" }, 1, 0],
    ["another email address", { email: "b@example.com" }, 1, 0],
    ["a phone number", { phone: "+351912345678" }, 1, 0],
    ["no phone number any more", { phone: null }, 0, 1],
    ["the same name in capitals", { first_name: "ANA" }, 0, 0],
    ["another language", { language: "de" }, 0, 0],
    ["a status", { status: "closed" }, 0, 0],
  ] as const)("are written with %s as far as they change", (_, patch, found, hidden) => {
    const phone = "phone" in patch && patch.phone === null ? "+351911111111" : null;
    const client = someClient({ first_name: "Ana", last_name: "Silva", email: "a@example.com", phone });
    const { changes } = accepted(amendClient(client, patch as object, decisionContext()));
    expect([changesOf(changes, "find").length, changesOf(changes, "unfind").length]).toEqual([found, hidden]);
  });
});
