/** The credentials and parameters of a token request, or why it is not one (RFC 6749 5.2). */
export type TokenParameters =
  | {
      readonly ok: true;
      readonly client_id: string;
      readonly client_secret: string;
      /** The client tried HTTP Basic, so a refusal must name that scheme (RFC 6749 5.2). */
      readonly basic: boolean;
      readonly parameters: ReadonlyMap<string, string>;
    }
  | {
      readonly ok: false;
      readonly error: "invalid_request" | "invalid_client";
      readonly detail: string;
      readonly basic: boolean;
    };

/** The parts of a request that carry credentials and parameters. */
export interface RawTokenRequest {
  readonly authorization: string | undefined;
  readonly content_type: string;
  readonly body: string;
  readonly has_query: boolean;
}

/**
 * Reads a token request. Credentials come by HTTP Basic or in the body, never both and never in the query (RFC 6749
 * 2.3.1). A form is the standard's way, JSON is our extension. Parameters must not repeat (3.2).
 */
export function readTokenRequest(raw: RawTokenRequest): TokenParameters {
  const basic = raw.authorization !== undefined && /^basic /i.test(raw.authorization);
  const invalid = (detail: string): TokenParameters => ({ ok: false, error: "invalid_request", detail, basic });
  if (raw.has_query) return invalid("Parameters belong in the body, not in the address.");
  const parameters = readParameters(raw);
  if (typeof parameters === "string") return invalid(parameters);
  const given = basic ? basicCredentials(raw.authorization ?? "") : undefined;
  if (basic && given === undefined) return invalid("The Basic credentials are malformed.");
  const bodyId = parameters.get("client_id");
  if (given === undefined) {
    const secret = parameters.get("client_secret");
    if (bodyId === undefined || secret === undefined) {
      return { ok: false, error: "invalid_client", detail: "Client authentication failed.", basic };
    }
    return { ok: true, client_id: bodyId, client_secret: secret, basic, parameters };
  }
  if (parameters.has("client_secret")) return invalid("The client authenticates in two ways at once.");
  if (bodyId !== undefined && bodyId !== given.id) return invalid("The client ids of header and body differ.");
  return { ok: true, client_id: given.id, client_secret: given.secret, basic, parameters };
}

function readParameters(raw: RawTokenRequest): ReadonlyMap<string, string> | string {
  const type = (raw.content_type.split(";")[0] ?? "").trim().toLowerCase();
  if (type === "application/json") return jsonParameters(raw.body);
  if (type !== "application/x-www-form-urlencoded")
    return "The content type must be application/x-www-form-urlencoded.";
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(raw.body)) {
    if (parameters.has(name)) return "A parameter is repeated.";
    // A parameter without a value is treated as absent (RFC 6749 3.2).
    if (value !== "") parameters.set(name, value);
  }
  return parameters;
}

function jsonParameters(body: string): ReadonlyMap<string, string> | string {
  const parameters = new Map<string, string>();
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return "The body is not valid JSON.";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "The body is not a JSON object.";
  for (const [name, each] of Object.entries(value)) {
    if (typeof each !== "string") return "A parameter is not a string.";
    if (each !== "") parameters.set(name, each);
  }
  return parameters;
}

/**
 * Both halves are form-decoded as RFC 6749 2.3.1 wants; what cannot be decoded was sent raw, as curl and Postman do.
 * Our ids and secrets hold letters, digits and underscores only, so both ways read the same.
 */
function basicCredentials(authorization: string): { id: string; secret: string } | undefined {
  const encoded = authorization.slice("basic ".length).trim();
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) return undefined;
  return { id: formDecode(text.slice(0, colon)), secret: formDecode(text.slice(colon + 1)) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
