import { describe, expect, it } from "vitest";
import { allowsStream, asksForProtocol, credentialOf } from "../../../shared/domain/stream/handshake.ts";
import { scopes } from "../../../shared/schema/scope.ts";

const ticket = `stk_${"a1".repeat(21)}Z`;

describe("the credential of a handshake", () => {
  const none = { type: "none" };
  it.each([
    ["nothing", [], {}, none],
    ["a header", ["Bearer x"], {}, { type: "bearer" }],
    ["two headers", ["Bearer x", "Bearer y"], {}, none],
    ["a ticket", [], { ticket: [ticket] }, { type: "ticket", ticket }],
    ["a ticket twice", [], { ticket: [ticket, ticket] }, none],
    ["a ticket without a value", [], { ticket: undefined }, none],
    ["a ticket that is too short", [], { ticket: [ticket.slice(0, -1)] }, none],
    ["a ticket that is too long", [], { ticket: [`${ticket}a`] }, none],
    ["a ticket and a header", ["Bearer x"], { ticket: [ticket] }, none],
    ["a ticket and another parameter", [], { ticket: [ticket], access_token: ["x"] }, none],
    ["a ticket by another name", [], { Ticket: [ticket] }, none],
    ["a header and a parameter", ["Bearer x"], { v: ["2"] }, none],
    ["a parameter __proto__", [], JSON.parse(`{"__proto__":["${ticket}"]}`), none],
  ])("of %s", (_name, authorization, query, wanted) => {
    expect(credentialOf(authorization, query)).toEqual(wanted);
  });
});

describe("the stream", () => {
  it("is open to the scopes of its channels and to no others", () => {
    const open = scopes.filter((scope) => allowsStream([scope]));
    expect(open).toEqual(["accounts:read", "quotes:read", "events:read", "feed:read"]);
    expect(allowsStream([])).toBe(false);
  });

  it.each([
    [[], false],
    [["chat"], false],
    [["brokerage.v2+json"], true],
    [["chat, brokerage.v2+json"], true],
    [["chat", "brokerage.v2+json"], true],
    [["brokerage.v2+jsonx"], false],
  ])("speaks its subprotocol where %j is asked for: %j", (header, wanted) => {
    expect(asksForProtocol(header)).toBe(wanted);
  });
});
