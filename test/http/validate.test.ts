import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { iso, safeParse } from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { HttpProblem } from "../../shared/http/problem.ts";
import { checkedValue, validBody, validQuery } from "../../shared/http/validate.ts";
import { limits } from "../../shared/limits.ts";
import { createAccount, listAccounts, listLedger } from "../../shared/routes/accounts.ts";
import { createClient, listClients, updateClient } from "../../shared/routes/clients.ts";
import { listEvents } from "../../shared/routes/events.ts";
import { createDeposit, updateTransaction } from "../../shared/routes/transactions.ts";
import { CalendarDate, TimestampInput } from "../../shared/schema/fields.ts";
import { MoneyInput, moneyMembersOf, SignedMoneyInput } from "../../shared/schema/money.ts";

interface Entry {
  readonly pointer?: string;
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
}

/** The problem that a check ends in. */
function problemOf(check: () => unknown): { code: string; message: string; errors: readonly Entry[] } {
  try {
    check();
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return { code: error.code, message: error.message, errors: (error.details.errors ?? []) as Entry[] };
  }
  throw new Error("The value was accepted.");
}

function bodyProblem(schema: $ZodType, body: unknown, immutable: ReadonlySet<string> = new Set()) {
  return problemOf(() => validBody(schema, body, immutable));
}

const smallest = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };

describe("a body", () => {
  it("gets all of its faults at once, each with its pointer", () => {
    const body = {
      email: "nobody",
      first_name: "",
      last_name: 7,
      phone: "12",
      address: { line1: "Rua A", country: "Portugal" },
      tags: ["vip", 3],
      metadata: { good: 1 },
      unknown: true,
    };
    const { code, message, errors } = bodyProblem(createClient.body, body);
    expect(code).toBe("validation_failed");
    expect(new Set(errors.map(({ pointer }) => pointer))).toEqual(
      new Set([
        "#/email",
        "#/first_name",
        "#/last_name",
        "#/phone",
        "#/address/city",
        "#/address/country",
        "#/tags/1",
        "#/metadata/good",
        "#/unknown",
      ]),
    );
    expect(message).toBe(`${errors.length} fields failed validation.`);
  });

  it.each([
    ["a missing member", {}, "required", "is required"],
    ["a member of another type", { account_id: 5 }, "invalid_type", "must be a string"],
    ["null where there must be something", { account_id: null }, "invalid_type", "must be a string"],
    ["an identifier of another kind", { account_id: "cli_01JD0000000000000000000001" }, "invalid_format", /acc_/],
    ["an identifier with a letter that no ULID has", { account_id: `acc_${"U".repeat(26)}` }, "invalid_format", /acc_/],
  ] as const)("tells %s from other faults", (_, body, code, detail) => {
    const { errors } = bodyProblem(createDeposit.body, { amount: "1", ...body });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({ pointer: "#/account_id", code });
    expect(errors[0]?.detail).toMatch(detail);
  });

  it.each([
    ["type", { type: "person" }, "invalid_value", /individual, corporate/],
    ["first_name", { first_name: "x".repeat(101) }, "too_big", /at most 100 characters/],
    ["tags", { tags: Array(21).fill("a") }, "too_big", /at most 20 entries/],
    ["date_of_birth", { date_of_birth: "2001-02-30" }, "invalid_format", /date/],
    ["country", { country: "pt" }, "invalid_format", /ISO 3166/],
    ["metadata/a b", { metadata: { "a b": "c" } }, "invalid_key", /letters/],
    ["metadata", { metadata: [] }, "invalid_type", /object/],
    ["first_name", { first_name: "A\u0007" }, "invalid_format", /text/],
    ["a~1b~0c", { "a/b~c": 1 }, "unknown_field", /not known/],
  ] as const)("names the rule that #/%s breaks: %o", (place, more, code, detail) => {
    const { errors } = bodyProblem(createClient.body, { ...smallest, ...more });
    expect(errors.map((error) => [error.pointer, error.code])).toEqual([[`#/${place}`, code]]);
    expect(errors[0]?.detail).toMatch(detail);
  });

  it.each([
    ["0", true],
    ["0.00", true],
    ["1000.00", true],
    ["999999999999999.99", true],
    ["1000000000000000", false],
    ["-1", false],
    ["+1", false],
    ["01", false],
    ["1e3", false],
    ["1.", false],
    [".5", false],
    [" 1", false],
    ["1,000", false],
    ["0x10", false],
    ["", false],
    ["١", false],
  ])("takes %j as an amount: %s", (amount, taken) => {
    const body = { account_id: "acc_01JD0000000000000000000002", amount };
    if (taken) expect(validBody(createDeposit.body, body, new Set())).toEqual(body);
    else expect(bodyProblem(createDeposit.body, body).errors).toMatchObject([{ pointer: "#/amount" }]);
  });

  it("never repeats the value that it refuses", () => {
    const secret = "5ecret\u0007value";
    const body = { email: secret, first_name: secret, type: secret, phone: secret, metadata: { a: [secret] } };
    expect(JSON.stringify(bodyProblem(createClient.body, body))).not.toContain("5ecret");
  });

  it("has its email trimmed and lowercased before it is checked", () => {
    const { email } = validBody(createClient.body, { ...smallest, email: "  Ana@Example.COM " }, new Set()) as {
      email: string;
    };
    expect(email).toBe("ana@example.com");
  });

  it("lists at most a hundred faults, and says how many there are", () => {
    const unknown = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1]));
    const { message, errors } = bodyProblem(createClient.body, { ...smallest, ...unknown });
    expect(errors).toHaveLength(limits.body.max_errors);
    expect(message).toBe("20000 fields failed validation.");
  });

  it("of any shape is either taken or refused with entries that all have a place, a code and a sentence", () => {
    const members = fc.dictionary(
      fc.constantFrom("email", "first_name", "last_name", "tags", "metadata", "address", "x"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(members, (body) => {
        try {
          validBody(createClient.body, body, new Set());
        } catch (error) {
          const { errors } = problemOf(() => {
            throw error;
          });
          expect(errors.length).toBeGreaterThan(0);
          for (const each of errors) {
            expect(each.pointer).toMatch(/^#\//);
            expect(each.code).toMatch(/^[a-z_]+$/);
            expect(each.detail).toMatch(/^(?:is|must|has|cannot) /);
          }
        }
      }),
    );
  });
});

describe("a patch", () => {
  const immutable = new Set(["id", "created_at", "version", "type"]);

  it("that changes an immutable member gets immutable_field if that is its only fault", () => {
    const { code, errors } = bodyProblem(updateClient.body, { id: "x", version: 3 }, immutable);
    expect(code).toBe("immutable_field");
    expect(errors.map(({ pointer, code: each }) => [pointer, each])).toEqual([
      ["#/id", "immutable_field"],
      ["#/version", "immutable_field"],
    ]);
  });

  it("that changes an immutable member and has another fault gets validation_failed with both", () => {
    const { code, errors } = bodyProblem(updateClient.body, { id: "x", nonsense: 1, first_name: 5 }, immutable);
    expect(code).toBe("validation_failed");
    expect(new Set(errors.map((error) => error.code))).toEqual(
      new Set(["immutable_field", "unknown_field", "invalid_type"]),
    );
  });

  it("of a transaction takes a status and a reason and nothing else", () => {
    expect(bodyProblem(updateTransaction.body, { amount: "1" }).errors).toMatchObject([
      { pointer: "#/amount", code: "unknown_field" },
    ]);
    expect(validBody(updateTransaction.body, {}, new Set())).toEqual({});
  });
});

describe("a query", () => {
  const ofPrototype = Object.fromEntries([["__proto__", ["1"]]]);

  it.each([
    ["an unknown parameter", listClients.query, { nope: ["1"] }, "unknown_parameter", "nope"],
    ["a parameter in another spelling", listClients.query, { Limit: ["1"] }, "unknown_parameter", "Limit"],
    ["any parameter where there is none", undefined, { a: ["1"] }, "unknown_parameter", "a"],
    ["the name of a prototype", listClients.query, ofPrototype, "unknown_parameter", "__proto__"],
    ["the name of a prototype where there is none", undefined, ofPrototype, "unknown_parameter", "__proto__"],
    ["a parameter given twice", listClients.query, { limit: ["1", "2"] }, "invalid_parameter", "limit"],
    ["a limit of 0", listClients.query, { limit: ["0"] }, "invalid_parameter", "limit"],
    ["a limit of 101", listAccounts.query, { limit: ["101"] }, "invalid_parameter", "limit"],
    ["a limit with a sign", listAccounts.query, { limit: ["+5"] }, "invalid_parameter", "limit"],
    ["an empty limit", listAccounts.query, { limit: [""] }, "invalid_parameter", "limit"],
    ["an order that the list does not have", listLedger.query, { sort: ["created_at"] }, "invalid_parameter", "sort"],
    ["a sequence that is none", listEvents.query, { after_sequence: ["-1"] }, "invalid_parameter", "after_sequence"],
    ["a cursor without a character", listEvents.query, { cursor: [""] }, "invalid_parameter", "cursor"],
  ] as const)("with %s is refused and named", (_, schema, query, code, parameter) => {
    const problem = problemOf(() => validQuery(schema, query));
    expect(problem.code).toBe(code);
    expect(problem.errors.map((error) => error.parameter)).toEqual([parameter]);
  });

  it("gets all of its faults at once", () => {
    const { errors } = problemOf(() => validQuery(listClients.query, { limit: ["x"], sort: ["y"] }));
    expect(errors.map(({ parameter }) => parameter)).toEqual(["limit", "sort"]);
  });

  it("is returned as sent when it is valid, and empty when it is absent", () => {
    expect(validQuery(listClients.query, { limit: ["100"], sort: ["created_at"] })).toEqual({
      limit: "100",
      sort: "created_at",
    });
    expect(validQuery(listClients.query, null)).toEqual({});
    expect(validQuery(undefined, null)).toEqual({});
  });
});

describe("the members that hold money", () => {
  it("are found in every row that has any", () => {
    expect([...moneyMembersOf(createDeposit.body)]).toEqual(["amount", "fee"]);
    expect([...moneyMembersOf(createAccount.body)]).toEqual([]);
    expect([...moneyMembersOf(undefined)]).toEqual([]);
  });
});

describe("a day and a moment", () => {
  const accepts = (schema: $ZodType, value: string) => safeParse(schema, value).success;

  it("are taken as by the library, on every day that can be written of leap years and others", () => {
    const years = [
      "0000",
      "0004",
      "0100",
      "0400",
      "1600",
      "1900",
      "1999",
      "2000",
      "2024",
      "2026",
      "2100",
      "9996",
      "9999",
    ];
    const pairs = Array.from({ length: 40 }, (_, value) => String(value).padStart(2, "0"));
    for (const year of years) {
      for (const month of pairs.slice(0, 21)) {
        const dates = pairs.map((day) => `${year}-${month}-${day}`);
        expect(dates.filter((date) => accepts(CalendarDate, date))).toEqual(
          dates.filter((date) => accepts(iso.date(), date)),
        );
      }
    }
  });

  const beyond = { code: "out_of_range", detail: "must be within the years 0000 to 9999 in UTC" };

  it.each([
    ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z"],
    ["9999-12-31T23:59:59-00:01", "9999-12-31T23:58:59-00:01"],
    ["0000-01-01T00:00:00+23:59", "0000-01-01T23:59:00+23:59"],
    ["0000-01-01T00:00:59.999+00:01", "0000-01-01T00:00:00Z"],
  ])("in another year than 0000 to 9999 in UTC are refused wherever a time is sent: %s, but not %s", (past, last) => {
    const deposit = { account_id: "acc_01JD0000000000000000000002", amount: "1" };
    const check = (expires_at: string) => ({ verification: { expires_at } });
    expect(bodyProblem(createDeposit.body, { ...deposit, expires_at: past }).errors).toEqual([
      { pointer: "#/expires_at", ...beyond },
    ]);
    expect(bodyProblem(updateClient.body, check(past)).errors).toEqual([
      { pointer: "#/verification/expires_at", ...beyond },
    ]);
    expect(problemOf(() => validQuery(listClients.query, { created_to: [past] })).errors).toEqual([
      { parameter: "created_to", ...beyond },
    ]);
    expect(validBody(createDeposit.body, { ...deposit, expires_at: last }, new Set())).toMatchObject({
      expires_at: last,
    });
    expect(validBody(updateClient.body, check(last), new Set())).toMatchObject(check(last));
    expect(validQuery(listClients.query, { created_to: [last] })).toMatchObject({ created_to: last });
  });

  it("are refused and taken as by the library whatever is written", () => {
    const digits = fc.stringMatching(/^[0-9]{2}$/);
    const zone = fc.constantFrom("Z", "z", "", "+01:00", "-23:59", "+24:00", "+0100", " Z");
    const fraction = fc.constantFrom("", ".1", ".123456789", ".", ",5");
    const date = fc.constantFrom("2024-02-29", "2026-02-29", "2026-11-21", "2026-11-31", " 2026-11-21", "2026-1-1");
    const moment = fc.tuple(date, fc.constantFrom("T", "t", " "), digits, digits, digits, fraction, zone);
    const written = moment.map(([day, mark, h, m, s, part, end]) => `${day}${mark}${h}:${m}:${s}${part}${end}`);
    fc.assert(
      fc.property(
        fc.oneof(
          written,
          written.map((text) => `${text}\n`),
        ),
        (text) => {
          expect(accepts(TimestampInput, text)).toBe(accepts(iso.datetime({ offset: true }), text));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("an amount", () => {
  const detailOf = (schema: $ZodType, text: string) => {
    const checked = checkedValue(schema, text, "#");
    return checked.ok ? undefined : checked.errors[0]?.detail;
  };
  const plain = "must be a plain decimal such as 1000.00";
  const grouped = `${plain}, with a point before the decimals and digits that are not grouped`;

  it.each([
    ["100\u200b.00", `${plain}, without the character U+200B`],
    ["\ufeff100.00", `${plain}, without the character U+FEFF`],
    ["\u2212100.00", `${plain}, without the character U+2212`],
    ["\uff0d100.00", `${plain}, without the character U+FF0D`],
    ["\u0661\u0660\u0660", `${plain}, without the character U+0661`],
    ["1,000.00", grouped],
    ["1.000,00", grouped],
    ["1 000.00", grouped],
    ["1\u00a0000.00", grouped],
    ["1\u202f000.00", grouped],
    ["1'000.00", grouped],
    ["1_000", grouped],
    ["100,00", grouped],
    ["100.00 ", `${plain}, without " "`],
    ["100.00\n", `${plain}, without the character U+000A`],
    ["$100.00", `${plain}, without "$"`],
    ["1e3", `${plain}, without "e"`],
    ["-1.00", `${plain}, with no sign`],
    ["+1.00", `${plain}, with no sign`],
    ["01.00", `${plain}, without a leading zero`],
    ["1234567890123456.00", "must have at most 15 digits before the point"],
    [`1.${"0".repeat(21)}`, "must have at most 20 digits after the point"],
    [".50", plain],
    ["1.", plain],
    ["1.2.3", plain],
    ["", plain],
  ])("written %j is refused with the reason that is true", (text, detail) => {
    expect(detailOf(MoneyInput, text)).toBe(detail);
  });

  it.each([
    ["\u221225.00", "must be a plain decimal such as -25.00, without the character U+2212"],
    ["--25.00", "must be a plain decimal such as -25.00, with no sign but one - at its start"],
    ["25.00-", "must be a plain decimal such as -25.00, with no sign but one - at its start"],
    [
      "-25,00",
      "must be a plain decimal such as -25.00, with a point before the decimals and digits that are not grouped",
    ],
    ["-025.00", "must be a plain decimal such as -25.00, without a leading zero"],
  ])("that may be below zero, written %j, is refused with the reason that is true", (text, detail) => {
    expect(detailOf(SignedMoneyInput, text)).toBe(detail);
  });
});
