import { addressInRanges } from "../runtime/address.ts";
import { authenticateClient } from "./applications.ts";
import { type RawTokenRequest, readTokenRequest } from "./credentials.ts";
import { accessTokenReply, grantedScopes } from "./grant.ts";
import { signingKey } from "./signing-key.ts";

/** A token request with the address that it came from. */
export interface TokenRequest extends RawTokenRequest {
  readonly address: string;
}

/** What the token endpoint answers, in the shape of RFC 6749 5. */
export interface TokenAnswer {
  readonly status: 200 | 400 | 401 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const uncached = { "Cache-Control": "no-store", Pragma: "no-cache" };

/** Answers a token request: client credentials grant (RFC 6749 4.4). */
export async function answerTokenRequest(request: TokenRequest): Promise<TokenAnswer> {
  const read = readTokenRequest(request);
  if (!read.ok) return failure(read.error, read.detail, read.basic);
  const grant = read.parameters.get("grant_type");
  if (grant === undefined) return failure("invalid_request", "The parameter grant_type is missing.", read.basic);
  const application = await authenticateClient(read.client_id, read.client_secret);
  const ranges = application?.allowed_ips ?? [];
  const welcome = ranges.length === 0 || addressInRanges(request.address, ranges);
  if (application === undefined || !welcome) {
    return failure("invalid_client", "Client authentication failed.", read.basic);
  }
  if (grant !== "client_credentials") {
    return failure("unsupported_grant_type", "The grant type must be client_credentials.", read.basic);
  }
  const scopes = grantedScopes(application, read.parameters.get("scope"));
  if (scopes === undefined) return failure("invalid_scope", "The application does not hold this scope.", read.basic);
  const key = await signingKey();
  if (key === undefined || application.api_key_id === null) return notReady();
  return { status: 200, headers: uncached, body: accessTokenReply(application, scopes, key) };
}

function failure(error: string, description: string, basic: boolean): TokenAnswer {
  const unauthorized = error === "invalid_client";
  return {
    status: unauthorized ? 401 : 400,
    // Only a client that tried Basic is challenged (RFC 6749 5.2); a body client would take the header for the error.
    headers: { ...uncached, ...(unauthorized && basic ? { "WWW-Authenticate": 'Basic realm="oauth"' } : {}) },
    body: { error, error_description: description },
  };
}

/** The first signing key and an application's API key are made shortly after they are asked for. */
function notReady(): TokenAnswer {
  const body = {
    error: "temporarily_unavailable",
    error_description: "The service is being set up. Try again shortly.",
  };
  return { status: 503, headers: { ...uncached, "Retry-After": "2" }, body };
}
