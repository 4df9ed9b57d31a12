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
      readonly error: "invalid_request";
      readonly status: 400 | 413;
      readonly detail: string;
    }
  | { readonly ok: false; readonly error: "invalid_client"; readonly basic: boolean };

/** The parts of a request that carry credentials and parameters. */
export interface RawTokenRequest {
  readonly authorization: string | undefined;
  readonly parameters: ReadonlyMap<string, string>;
  /** Why the parameters could not be read. */
  readonly fault: { readonly status: 400 | 413; readonly detail: string } | undefined;
  readonly has_query: boolean;
}

/**
 * Reads a token request. Credentials come by HTTP Basic or in the body, never both and never in the query (RFC 6749
 * 2.3.1).
 */
export function readTokenRequest(raw: RawTokenRequest): TokenParameters {
  const basic = raw.authorization !== undefined && /^basic /i.test(raw.authorization);
  const invalid = (detail: string, status: 400 | 413 = 400): TokenParameters => {
    return { ok: false, error: "invalid_request", status, detail };
  };
  const { fault, parameters } = raw;
  if (fault !== undefined) return invalid(fault.detail, fault.status);
  if (raw.has_query) return invalid("Parameters belong in the body, not in the address.");
  const given = basic ? basicCredentials(raw.authorization ?? "") : undefined;
  if (basic && given === undefined) return invalid("The Basic credentials are malformed.");
  const bodyId = parameters.get("client_id");
  if (given === undefined) {
    const secret = parameters.get("client_secret");
    if (bodyId === undefined || secret === undefined) {
      return { ok: false, error: "invalid_client", basic };
    }
    return { ok: true, client_id: bodyId, client_secret: secret, basic, parameters };
  }
  if (parameters.has("client_secret")) return invalid("The client authenticates in two ways at once.");
  if (bodyId !== undefined && bodyId !== given.id) return invalid("The client ids of header and body differ.");
  return { ok: true, client_id: given.id, client_secret: given.secret, basic, parameters };
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
