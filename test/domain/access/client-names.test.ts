import { describe, expect, it } from "vitest";
import { amendClient, clientSummary, openClient } from "../../../shared/domain/accounts/client.ts";
import { accepted, decisionContext, personKey, refused, someClient } from "../../support/builders/decisions.ts";

describe("the names of a person", () => {
  it.each([
    ["first", { first_name: "Suharto", last_name: null }],
    ["last", { last_name: "Suharto" }],
  ] as const)("may be a %s name alone", (_, names) => {
    const { result } = accepted(openClient({ email: "a@b.co", ...names }, personKey, decisionContext()));
    expect([result.first_name, result.last_name].filter((name) => name !== null)).toEqual(["Suharto"]);
    expect(clientSummary(result).name).toBe("Suharto");
  });

  it("may lose one, and then not the other one", () => {
    const { result } = accepted(amendClient(someClient(), { first_name: null }, decisionContext()));
    expect(result).toMatchObject({ first_name: null, last_name: someClient().last_name });
    expect(refused(amendClient(result, { last_name: null }, decisionContext())).errors).toMatchObject([
      { pointer: "#/first_name", code: "required" },
      { pointer: "#/last_name", code: "required" },
    ]);
  });
});
