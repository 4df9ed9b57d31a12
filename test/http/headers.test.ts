import { describe, expect, it } from "vitest";
import { checkHeaders } from "../../shared/http/headers.ts";
import { readOAuthParameters } from "../../shared/http/oauth-parameters.ts";
import { HttpProblem } from "../../shared/http/problem.ts";
import { newCaller, proxyEvent, type RequestParts } from "../support/emulator/request.ts";

type Headers = NonNullable<RequestParts["headers"]>;

function eventWith(headers: Headers, path = "/transactions/deposit") {
  return proxyEvent(newCaller(), "POST", path, { body: "{}", headers }).event;
}

/** The code and the entries of the problem that the headers end in; undefined when they are accepted. */
function problemOf(headers: Headers) {
  try {
    checkHeaders(eventWith(headers));
    return undefined;
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    return { code: error.code, errors: error.details.errors };
  }
}

const twice: readonly (readonly [string, Headers])[] = [
  ["Authorization", { Authorization: ["Bearer a", "Bearer b"] }],
  ["Authorization", { Authorization: ["Bearer a", "Bearer a"] }],
  ["Authorization", { Authorization: "Bearer a", authorization: "Bearer b" }],
  ["Content-Type", { "Content-Type": ["application/json", "application/x-www-form-urlencoded"] }],
  ["Content-Type", { "Content-Type": "application/json", "CONTENT-TYPE": "application/json" }],
];

describe("a header that names another method", () => {
  const names = ["X-HTTP-Method-Override", "x-http-method-override", "X-HTTP-Method", "X-Method-Override"];
  it.each(names)("is refused: %s", (name) => {
    const header = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].find(
      (known) => known.toLowerCase() === name.toLowerCase(),
    );
    for (const value of ["DELETE", "POST", "", "nonsense"]) {
      const errors = [{ header, code: "not_supported", detail: "is not supported; use the HTTP method itself" }];
      expect(problemOf({ [name]: value })).toEqual({ code: "invalid_parameter", errors });
      const { fault } = readOAuthParameters(eventWith({ [name]: value }, "/oauth/revoke"));
      expect(fault?.status).toBe(400);
    }
  });
});

describe("a header that has one value", () => {
  it.each(twice)("is refused when it is sent twice: %s in %o", (header, headers) => {
    const errors = [{ header, code: "repeated", detail: "is given more than once" }];
    expect(problemOf(headers)).toEqual({ code: "invalid_parameter", errors });
  });

  it.each(twice)("is refused by the OAuth endpoints in their own format: %s in %o", (header, headers) => {
    const { fault } = readOAuthParameters(eventWith(headers, "/oauth/token"));
    expect(fault).toEqual({ status: 400, detail: `The header ${header} is given more than once.` });
  });

  it("is accepted once, while a list header may be sent on several lines", () => {
    const lists = { Accept: ["text/html", "*/*"], "If-Match": ['"1"', '"2"'], "X-Forwarded-For": ["a", "b"] };
    expect(problemOf({ Authorization: "Bearer a", ...lists })).toBeUndefined();
  });
});
