import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Parser } from "@asyncapi/parser";
import { describe, expect, it } from "vitest";
import { channelScopes } from "../../../shared/domain/stream/subscription.ts";
import { narrowAsync } from "../../../shared/openapi/stream/async-document.ts";
import { buildAsyncApi, printAsyncApi } from "../../../shared/openapi/stream/build-async.ts";
import { messageExamples } from "../../../shared/openapi/stream/examples.ts";
import { Channel, ClientMessage } from "../../../shared/schema/stream/client-messages.ts";
import { BatchMember, ServerMessage } from "../../../shared/schema/stream/server-messages.ts";

const committed = readFileSync(new URL("../../../shared/openapi/stream/asyncapi.json", import.meta.url), "utf8");
const document = buildAsyncApi();
const types = (union: { _zod: { def: unknown } }, member: string): string[] => {
  const { options } = union._zod.def as { options: { _zod: { def: { shape: Record<string, never> } } }[] };
  return options.map((one) => {
    const literal = one._zod.def.shape[member] as { _zod: { def: { values: string[] } } } | undefined;
    return literal?._zod.def.values[0] ?? "";
  });
};

/** The gravest findings of the official parser, which has no finding that may be left: errors, then warnings. */
async function findings(text: string): Promise<string[]> {
  const { diagnostics } = await new Parser().parse(text);
  return diagnostics
    .filter(({ severity }) => severity <= 1)
    .map(({ path, message }) => `${path.join("/")}: ${message}`);
}

interface Ajv {
  addSchema(schema: object, key: string): void;
  compile(schema: object): { (value: unknown): boolean; errors?: object | null };
}

// The parser judges no examples of version 3, but it brings a validator of JSON Schema.
const ofParser = createRequire(createRequire(import.meta.url).resolve("@asyncapi/parser"));
const Validator = (ofParser("ajv") as { default: new (options: object) => Ajv }).default;
const validator = new Validator({ strict: false, validateFormats: false });
validator.addSchema({ components: { schemas: document.components.schemas } }, "document");

/** Faults of a value by the published schema of a message. */
function faultsOf(name: string, value: unknown): unknown {
  const validate = validator.compile({ $ref: `document#/components/schemas/${name}` });
  return validate(value) ? [] : validate.errors;
}

describe("the AsyncAPI document of the stream", () => {
  it("is committed as the schemas say (npm run openapi)", () => {
    expect(printAsyncApi(document)).toBe(committed);
  });

  it("has no error and no warning of the official parser, which also finds what is planted", async () => {
    expect(await findings(committed)).toEqual([]);
    const wrong = structuredClone(document);
    Object.assign(wrong.operations["hello"] ?? {}, { messages: [{ $ref: "#/channels/stream/messages/hallo" }] });
    expect(await findings(JSON.stringify(wrong))).toEqual([expect.stringContaining("operations/hello/messages/0")]);
  });

  it("has every message in its channel and in an operation, and each channel of a subscription with its scope", () => {
    const messages = [...types(ClientMessage, "type"), ...types(ServerMessage, "type")];
    expect(Object.keys(document.components.messages).toSorted()).toEqual(messages.toSorted());
    expect(Object.keys(document.channels["stream"]?.["messages"] as object).toSorted()).toEqual(messages.toSorted());
    const inOperations = JSON.stringify(document.operations);
    for (const type of messages) expect(inOperations).toContain(`"#/channels/stream/messages/${type}"`);
    for (const name of types(Channel, "name")) {
      expect(String(document.info["description"])).toContain(
        `| \`${name}\` | \`${channelScopes[name as "events"]}\` |`,
      );
    }
  });

  it("has an example of every message, channel and member of a batch, which both kinds of schema accept", () => {
    for (const [name, each] of Object.entries(messageExamples)) {
      expect(each.flatMap(({ payload }) => faultsOf(name, payload))).toEqual([]);
    }
    expect(faultsOf("PongMessage", { type: "ping" })).not.toEqual([]);
    const examples = Object.values(messageExamples).flatMap((each) => each.map(({ payload }) => payload));
    const shown = JSON.stringify(examples);
    const all = [types(ClientMessage, "type"), types(ServerMessage, "type"), types(BatchMember, "type")].flat();
    for (const type of all) expect(shown).toContain(`"type":"${type}"`);
    for (const name of types(Channel, "name")) expect(shown).toContain(`"name":"${name}"`);
    for (const example of examples) {
      const schema = types(ClientMessage, "type").includes(String(example["type"])) ? ClientMessage : ServerMessage;
      expect({ example, refused: schema.safeParse(example).error?.issues }).toEqual({ example, refused: undefined });
    }
  });

  it("names the address of its stage alone, with the path that it has", async () => {
    const streamUrl = "wss://abc.execute-api.eu-west-1.amazonaws.com/v2";
    const own = narrowAsync(document, { stage: "sandbox", streamUrl });
    expect(Object.keys(own.servers)).toEqual(["sandbox"]);
    expect(own.servers["sandbox"]).toMatchObject({
      host: "abc.execute-api.eu-west-1.amazonaws.com",
      pathname: "/v2",
      protocol: "wss",
    });
    expect(narrowAsync(document, { stage: "sandbox", streamUrl: "ws://127.0.0.1:4001" }).servers).toMatchObject({
      sandbox: { host: "127.0.0.1:4001", protocol: "ws" },
    });
    expect(await findings(JSON.stringify(own))).toEqual([]);
  });
});
