import { describe, expect, it } from "vitest";
import { HttpProblem } from "../../shared/http/problem.ts";
import { refuseDashboard, senderOf } from "../../shared/http/sender.ts";
import { originHeader, originVariable } from "../../shared/runtime/origin.ts";
import { newCaller, proxyEvent, type RequestParts } from "../support/emulator/request.ts";

/** Addresses of a server of the distribution, of a browser, and one that is only claimed. */
const [edge, browser, forged] = ["198.51.100.7", "203.0.113.9", "192.0.2.1"];
const right = { secret: "A".repeat(64) };

function senderWith(parts: RequestParts, secret: string | null | undefined = right.secret) {
  const { event } = proxyEvent(newCaller(), "GET", "/me", { sourceIp: edge, ...parts });
  const stageVariables = secret === null ? null : { [originVariable]: secret };
  return senderOf({ ...event, stageVariables });
}

const direct = { address: edge, entrance: "api" };
const throughIt = { address: browser, entrance: "dashboard" };

describe("the sender of a request", () => {
  const claims = [forged, `${forged}, ${browser}`, `${browser}, ${forged}`, `unknown, "x", ${forged}`, ", ,"];
  const lists = [...claims, ["10.0.0.1", forged], [forged, ""]];

  it.each(lists)("is who connects to the API, whatever it claims to forward: %j", (claimed) => {
    const others = { "X-Real-IP": forged, Forwarded: `for=${forged}`, "CloudFront-Viewer-Address": `${forged}:443` };
    for (const headers of [{ "X-Forwarded-For": claimed }, { ...others, "X-Forwarded-For": claimed }]) {
      expect(senderWith({ headers })).toEqual(direct);
    }
  });

  it.each(lists)("is the browser that connects to the distribution, whatever it claims to forward: %j", (claimed) => {
    const headers = { "X-Forwarded-For": claimed, "CloudFront-Viewer-Address": `${forged}:443` };
    expect(senderWith({ headers, browserIp: browser })).toEqual(throughIt);
    expect(senderWith({ headers, browserIp: "2001:db8::7" })).toEqual({ ...throughIt, address: "2001:db8::7" });
  });

  it.each(["", "A", "A".repeat(63), "A".repeat(65), "B".repeat(64), "é".repeat(32), "a".repeat(64)])(
    "is who connects where the secret of the distribution is wrong: %s",
    (shown) => {
      const headers = { [originHeader]: shown, "X-Forwarded-For": browser };
      expect(senderWith({ headers })).toEqual(direct);
      expect(senderWith({ headers: { [originHeader.toLowerCase()]: shown } })).toEqual(direct);
    },
  );

  it.each([null, undefined, ""])("is who connects where the stage has no secret: %s", (secret) => {
    const headers = { [originHeader]: secret ?? "", "X-Forwarded-For": browser };
    expect(senderWith({ headers }, secret ?? null)).toEqual(direct);
    expect(senderWith({ headers }, "")).toEqual(direct);
  });

  it("is the distribution where it names no address, so that no range of an application holds it", () => {
    expect(senderWith({ browserIp: "unknown" })).toEqual({ address: edge, entrance: "dashboard" });
  });
});

describe("the dashboard's address", () => {
  it("refuses what is not an operator's, and names the address of the API", () => {
    process.env["PUBLIC_BASE_URL"] ??= "https://api.test.example/v2";
    const refused = () => refuseDashboard({ sender: { address: browser, entrance: "dashboard" } });
    expect(refused).toThrow(HttpProblem);
    expect(refused).toThrow(`Call the API at ${process.env["PUBLIC_BASE_URL"]}/ instead.`);
    expect(() => refuseDashboard({ sender: { address: browser, entrance: "api" } })).not.toThrow();
  });
});
