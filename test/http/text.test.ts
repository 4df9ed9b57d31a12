import { describe, expect, it } from "vitest";
import type * as z from "zod/mini";
import { safeParse } from "zod/v4/core";
import { mergeMetadata } from "../../shared/domain/kernel/metadata.ts";
import { readFeedItem } from "../../shared/feed/read-items.ts";
import { HttpProblem, type ProblemEntry } from "../../shared/http/problem.ts";
import { scanJson } from "../../shared/http/strict-json.ts";
import { validBody, validQuery } from "../../shared/http/validate.ts";
import { createAccount, listAccounts } from "../../shared/routes/accounts.ts";
import { createClient, listClients, updateClient } from "../../shared/routes/clients.ts";
import { routes } from "../../shared/routes/index.ts";
import { createOperator } from "../../shared/routes/operators.ts";
import type { Route } from "../../shared/routes/route.ts";
import { createWebhookEndpoint } from "../../shared/routes/webhooks.ts";
import { PlatformId } from "../../shared/schema/feed/members.ts";

/** Characters by what they are; each list holds the first and the last of its ranges. */
const control = ["\u0000", "\u0007", "\t", "\n", "\r", "\u001f", "\u007f", "\u0080", "\u0085", "\u009f"];
const halves = ["\ud800", "\udbff", "\udc00", "\udfff"];
/** Characters of a decoder for bytes that it cannot read, and others that no text holds. */
const lost = ["\ufffd", "\uffff", "\ufffe", "\ufdd0", "\u{10ffff}"];
const direction = ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"];
const invisible = ["\u00ad", "\u200b", "\u2060", "\ufeff", "\u034f", "\u3164", "\u2028", "\u2029", "\u{e0041}"];
const joiners = ["\u200c", "\u200d"];

const client = { email: "ana@example.com", first_name: "Ana", last_name: "Silva" };

function faults(check: () => unknown): readonly (ProblemEntry & { readonly pointer?: string })[] {
  try {
    check();
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return (error.details.errors ?? []) as never;
  }
  return [];
}

const clientFaults = (more: object) => faults(() => validBody(createClient.body, { ...client, ...more }, new Set()));
const taken = (more: object) => validBody(createClient.body, { ...client, ...more }, new Set()) as typeof client;

interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodMiniType;
  readonly in?: z.ZodMiniType;
  readonly shape?: Readonly<Record<string, z.ZodMiniType>>;
  readonly element?: z.ZodMiniType;
  readonly options?: readonly z.ZodMiniType[];
  readonly keyType?: z.ZodMiniType;
  readonly valueType?: z.ZodMiniType;
}

/** Every place in a schema that takes a string, by its path. */
function strings(schema: z.ZodMiniType, path: string): (readonly [path: string, schema: z.ZodMiniType])[] {
  const def = schema._zod.def as unknown as Definition;
  if (def.type === "string" || def.type === "pipe") return [[path, schema]];
  const parts: readonly (readonly [string, z.ZodMiniType | undefined])[] = [
    ["", def.innerType],
    ["/0", def.element],
    ["/{name}", def.keyType],
    ["/{value}", def.valueType],
    ...(def.options ?? []).map((option) => ["", option] as const),
    ...Object.entries(def.shape ?? {}).map(([name, member]) => [`/${name}`, member] as const),
  ];
  return parts.flatMap(([step, part]) => (part?._zod === undefined ? [] : strings(part, `${path}${step}`)));
}

describe("text of a request", () => {
  /** Opaque text that is decoded and never stored. */
  const elsewhere = /\/cursor$/;
  /** A platform's names of its own things are cleaned, and the type of an item is looked at item by item. */
  const ofFeed = /\/items\/0\/type$|^ack_command \/operation_id$|^send_feed_snapshot .*_(?:id|login)$/;
  // The token endpoint looks at its own parameters: RFC 6749 gives its answers another shape.
  const rows = (routes as readonly Route[]).filter(({ media }) => media !== "form_or_json");
  const places = rows.flatMap((row) =>
    [row.body, row.query].flatMap((schema) =>
      schema === undefined ? [] : strings(schema as z.ZodMiniType, `${row.id} `),
    ),
  );
  const looked = places.filter(([path]) => !elsewhere.test(path) && !ofFeed.test(path));

  it("holds no control character, lone surrogate, U+FFFD or noncharacter, wherever a row takes a string", () => {
    expect(looked.length).toBeGreaterThan(150);
    const accepting = looked.flatMap(([path, schema]) =>
      [...control, ...halves, ...lost].flatMap((character) =>
        // A URL is looked at by the decision; `url` below.
        !path.endsWith("/url") && safeParse(schema, `ab${character}cd`).success
          ? [`${path} takes ${JSON.stringify(character)}`]
          : [],
      ),
    );
    expect(accepting).toEqual([]);
  });

  it.each([...control, ...halves, ...lost])("is refused with field and rule when metadata holds %j", (character) => {
    expect(clientFaults({ metadata: { note: `a${character}b` } })).toEqual([
      {
        pointer: "#/metadata/note",
        code: "invalid_format",
        detail:
          "must be text without control characters, U+FFFD (bytes of another encoding than UTF-8) or noncharacters",
      },
    ]);
    const patch = () => validBody(updateClient.body, { metadata: { note: `a${character}b` } }, new Set());
    expect(faults(patch)).toMatchObject([{ pointer: "#/metadata/note", code: "invalid_format" }]);
  });

  it("is normalised to NFC before it is measured, compared and stored", () => {
    const composed = "Zo\u00eb \u1ec7";
    const decomposed = composed.normalize("NFD");
    const more = { first_name: decomposed, external_id: decomposed, metadata: { k: decomposed }, tags: [decomposed] };
    expect(taken(more)).toMatchObject({
      first_name: composed,
      external_id: composed,
      metadata: { k: composed },
      tags: [composed],
    });
    expect(taken({ external_id: "e\u0301".repeat(64) })).toMatchObject({ external_id: "\u00e9".repeat(64) });
    // U+1D160 is three characters in NFC.
    expect(clientFaults({ external_id: "\u{1d160}".repeat(22) })).toMatchObject([{ code: "too_big" }]);
    expect(taken({ email: "Zoe\u0308@Example.com" }).email).toBe("zo\u00eb@example.com");
    expect(validQuery(listClients.query, { external_id: [decomposed] })).toEqual({ external_id: composed });
    expect(validQuery(listClients.query, { email: ["ZOE\u0308@example.com"] })).toEqual({
      email: "zo\u00eb@example.com",
    });
  });
});

describe("text that identifies", () => {
  it.each([
    ["a letter that looks like another one", "\u0430na@example.com"],
    ["a letter outside of ASCII", "zo\u00eb@example.com"],
    ["more characters than the user pool takes", `${"a".repeat(117)}@example.com`],
  ])("holds, as the address of an operator, not %s", (_, email) => {
    const operator = { email, name: "Ana", role: "viewer" };
    expect(faults(() => validBody(createOperator.body, operator, new Set()))).toMatchObject([{ pointer: "#/email" }]);
    expect(clientFaults({ email })).toEqual([]);
    const longest = { ...operator, email: ` ${"A".repeat(116)}@example.com` };
    expect(validBody(createOperator.body, longest, new Set())).toMatchObject({
      email: longest.email.trim().toLowerCase(),
    });
  });

  it.each([...direction, ...invisible, ...joiners, ...lost])(
    "holds no invisible or lost character: %j",
    (character) => {
      const marked = `ab${character}cd`;
      for (const [member, value] of [
        ["external_id", marked],
        ["registration_number", marked],
        ["email", `a${character}na@example.com`],
      ] as const) {
        const found = clientFaults({ [member]: value });
        expect(found.map(({ pointer, code }) => [pointer, code])).toEqual([[`#/${member}`, "invalid_format"]]);
      }
      const account = { client_id: "cli_01JD0000000000000000000002", platform_login: marked, group_id: marked };
      expect(faults(() => validBody(createAccount.body, account, new Set()))).toMatchObject([
        { pointer: "#/group_id", code: "invalid_format" },
        { pointer: "#/platform_login", code: "invalid_format" },
      ]);
      const endpoint = { url: "https://a.example/", event_types: ["*"], group_ids: [marked] };
      expect(faults(() => validBody(createWebhookEndpoint.body, endpoint, new Set()))).toMatchObject([
        { pointer: "#/group_ids/0" },
      ]);
      expect(faults(() => validQuery(listClients.query, { external_id: [marked] }))).toMatchObject([
        { parameter: "external_id", code: "invalid_format" },
      ]);
    },
  );

  it("names the rule that it breaks", () => {
    expect(clientFaults({ external_id: "crm\u202e1" })).toEqual([
      {
        pointer: "#/external_id",
        code: "invalid_format",
        detail:
          "must be text without control or invisible characters, U+FFFD (bytes of another encoding than UTF-8) or " +
          "noncharacters, and not blank",
      },
    ]);
  });
});

describe("a name", () => {
  it.each([
    "\u0646\u06cc\u06a9\u200c\u067e\u06cc",
    "\u0d28\u0d4d\u200d",
    "\u{1f468}\u200d\u{1f4bb}",
    "\u845b\u{e0100}",
  ])("may hold joiners, and variants of characters: %j", (name) => {
    expect(taken({ first_name: name }).first_name).toBe(name);
  });

  it.each([...joiners, "\u200c\u200d \u200c", "\u3164", "\ufe0f"])("is not only %j", (name) => {
    expect(clientFaults({ first_name: name })).toMatchObject([{ pointer: "#/first_name", code: "invalid_format" }]);
  });

  it.each([...direction, ...invisible, ...lost])("holds no other invisible or lost character: %j", (character) => {
    expect(clientFaults({ last_name: `Sil${character}va` })).toMatchObject([{ pointer: "#/last_name" }]);
  });
});

describe("white space at the ends", () => {
  const around = (value: string) => ` \u00a0\ufeff\u3000\t\n${value}\r\n\u2028 \ufeff\u00a0`;
  const wide = "a".repeat(64);

  it("is no part of an identifier or a name, in bodies, queries and items of a feed", () => {
    const more = { first_name: around("Ana  B"), external_id: around(wide), tags: [around("vip")] };
    expect(taken(more)).toMatchObject({ first_name: "Ana  B", external_id: wide, tags: ["vip"] });
    const account = { client_id: "cli_01JD0000000000000000000002", platform_login: around("7001") };
    expect(validBody(createAccount.body, account, new Set())).toMatchObject({ platform_login: "7001" });
    expect(validQuery(listAccounts.query, { platform_login: [around("7001")] })).toEqual({ platform_login: "7001" });
    expect(validQuery(listClients.query, { external_id: [around("a b")], tag: [around("vip")] })).toEqual({
      external_id: "a b",
      tag: "vip",
    });
    expect(safeParse(PlatformId, around("7001")).data).toBe("7001");
  });

  it("alone is no identifier, and stays part of other text", () => {
    for (const member of ["external_id", "first_name"])
      expect(clientFaults({ [member]: around("") })).toMatchObject([{ pointer: `#/${member}`, code: "too_small" }]);
    const address = { line1: " Rua 1 ", city: "Lisboa", country: "PT" };
    expect(taken({ address })).toMatchObject({ address });
  });
});

describe("the domain of an email address", () => {
  it.each([
    ["ana@ex\u00e4mple.de", "ana@xn--exmple-cua.de"],
    ["ana@EXA\u0308MPLE.de", "ana@xn--exmple-cua.de"],
    ["ana@xn--exmple-cua.de", "ana@xn--exmple-cua.de"],
    ["ana@\u4f8b\u3048\u3002jp", "ana@xn--r8jz45g.jp"],
    ["zo\u00eb@b\u00fccher.example", "zo\u00eb@xn--bcher-kva.example"],
    ["ana@1.1", "ana@1.1"],
  ])("of %s is stored and compared in ASCII", (email, stored) => {
    expect(taken({ email }).email).toBe(stored);
    expect(validQuery(listClients.query, { email: [email] })).toEqual({ email: stored });
  });

  it.each([
    ["with a number for an address", "ana@\uff11"],
    ["with an address of numbers", "ana@\uff11.2.3.4"],
    ["with an escape", "ana@%41\u00e4.de"],
    ["with an invisible character", "ana@ex\u00e4m\u00adple.de"],
    ["with a label of more than 63", `ana@${"\u00e4".repeat(63)}.de`],
    ["with a letter that no domain has", "ana@\ufffd\u00e4.de"],
    ["without a second label", "ana@\u00e4"],
    ["with an empty label", "ana@\u00e4..de"],
    ["with a path", "ana@\u00e4.de/x"],
    ["with a port", "ana@\u00e4.de:25"],
  ])("%s is refused", (_, email) => {
    expect(clientFaults({ email })).toMatchObject([{ pointer: "#/email", code: "invalid_format" }]);
  });
});

describe("metadata", () => {
  const filled = (bytes: number) => {
    const values: Record<string, string> = {};
    for (let left = bytes, key = 0; left > 0; key += 1) {
      const name = `k${key}`;
      const value = "a".repeat(Math.min(500, left - name.length));
      values[name] = value;
      left -= name.length + value.length;
    }
    return values;
  };
  const limit = 16 * 1024;
  const refusal = {
    pointer: "#/metadata",
    code: "too_many_bytes",
    detail: "must have at most 16384 bytes, its keys and values in UTF-8 together",
  };

  it("may have 16 KiB of keys and values together, counted in UTF-8", () => {
    expect(clientFaults({ metadata: filled(limit) })).toEqual([]);
    expect(clientFaults({ metadata: filled(limit + 1) })).toEqual([refusal]);
    const wide = (count: number) => ({
      metadata: Object.fromEntries([...Array(count)].map((_, at) => [`k${at + 10}`, "\u6f22".repeat(500)])),
    });
    expect(clientFaults(wide(10))).toEqual([]);
    expect(clientFaults(wide(11))).toEqual([refusal]);
  });

  it("is refused for too many keys with the code of a patch", () => {
    const many = Object.fromEntries([...Array(51)].map((_, at) => [`k${at}`, ""]));
    expect(clientFaults({ metadata: many })).toMatchObject([{ pointer: "#/metadata", code: "too_many_keys" }]);
    expect(mergeMetadata({}, many)).toMatchObject({ ok: false, refusal: { errors: [{ code: "too_many_keys" }] } });
  });

  it("keeps its bound after a merge patch", () => {
    const half = filled(limit);
    expect(mergeMetadata(half, {})).toMatchObject({ ok: true });
    expect(mergeMetadata(half, { k0: "b" })).toMatchObject({ ok: true });
    expect(mergeMetadata(half, { more: "" })).toMatchObject({ ok: false, refusal: { errors: [refusal] } });
  });
});

describe("text of a feed", () => {
  const opening = {
    action: "open",
    platform_login: "7001",
    deal_id: "d1",
    position_id: "p1",
    symbol: "EURUSD",
    side: "buy",
    lots: "1.00",
    price: "1.10000",
  };
  const read = (data: object) => readFeedItem({ seq: "1", type: "execution", data: { ...opening, ...data } });

  it("is cleaned and never refused: the names of a platform's own things", () => {
    const dirty = [...control, ...halves.toReversed(), ...direction, ...invisible].join("");
    const reading = read({ platform_login: `70${dirty}01`, deal_id: "d1\u0000\u0000", order_id: "e\u0301\r\n" });
    expect(reading).toMatchObject({
      ok: true,
      dedup: ["open", "d1"],
      item: { data: { platform_login: expect.stringMatching(/^70\ufffd*01$/), deal_id: "d1", order_id: "\u00e9" } },
    });
  });

  it("is set aside item by item when nothing of a name is left", () => {
    expect(read({ deal_id: "\u0000" })).toMatchObject({
      ok: false,
      refusal: { errors: [{ pointer: "#/data/deal_id", code: "too_small" }] },
    });
  });

  it("may hold a lone surrogate, which other requests may not", () => {
    const text = '{"items":[{"data":{"deal_id":"\\ud800"}}]}';
    expect(() => scanJson(text)).toThrow(/surrogate/);
    expect(() => scanJson(text, { halves: true })).not.toThrow();
  });

  it("is well formed in the record of an item that is set aside", () => {
    const { raw } = readFeedItem({ seq: "1", type: "ex\ud800", data: { "\udc00": ["\ud800x", 1, null] } });
    expect(raw).toEqual({ seq: "1", type: "ex\ufffd", data: { "\ufffd": ["\ufffdx", 1, null] } });
  });
});

describe("a name in a problem", () => {
  it("is cut between characters, never inside one", () => {
    const name = `${"a".repeat(99)}\u{1f4bb}b`;
    const [entry] = faults(() => validBody(createClient.body, { ...client, [name]: 1 }, new Set()));
    expect(entry?.pointer?.isWellFormed()).toBe(true);
    const [other] = faults(() => validQuery(listClients.query, { [name]: ["1"] }));
    expect((other as { parameter?: string }).parameter?.isWellFormed()).toBe(true);
  });
});
