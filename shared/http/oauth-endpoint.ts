import type { ShippedRoute } from "../routes/route.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isUnavailable } from "../runtime/unavailable.ts";
import { prime } from "../table/counters.ts";
import { userAgentOf } from "./audited.ts";
import { headerOf } from "./body.ts";
import type { Handler } from "./endpoint.ts";
import { type OAuthParameters, readOAuthParameters } from "./oauth-parameters.ts";
import { open } from "./open.ts";

/** A request to an OAuth endpoint, which has its own format of parameters, credentials and errors. */
export interface RawOAuthRequest {
  readonly authorization: string | undefined;
  readonly parameters: OAuthParameters["parameters"];
  readonly fault: OAuthParameters["fault"];
  readonly has_query: boolean;
  readonly address: string;
  readonly user_agent: string | null;
  readonly time_ms: number;
  readonly request_id: string;
}

/** The answer of an OAuth endpoint: JSON, or an empty body. */
export interface RawOAuthAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/**
 * An endpoint that clients call with their own credentials (RFC 6749 2.3). `unavailable` makes the answer to a
 * temporary failure, in the format of the endpoint.
 */
export async function oauthEndpoint(
  row: ShippedRoute,
  answer: (request: RawOAuthRequest) => Promise<RawOAuthAnswer>,
  unavailable: () => RawOAuthAnswer,
): Promise<Handler> {
  await prime();
  return open(row, async ({ event, sender, request_id }) => {
    const request = {
      authorization: headerOf(event, "Authorization"),
      ...readOAuthParameters(event),
      has_query: Object.keys(event.queryStringParameters ?? {}).length > 0,
      address: sender.address,
      user_agent: userAgentOf(event),
      time_ms: event.requestContext.requestTimeEpoch,
      request_id,
    };
    const { status, headers, body } = await answer(request).catch((error: Error) => {
      if (!isUnavailable(error)) throw error;
      log.error("The request failed.", { operation: row.id, ...causeOf(error) });
      return unavailable();
    });
    // API Gateway names the type of a reply that has none application/json, also of an empty one.
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    return { status, headers: { ...type, ...headers }, body: body === undefined ? "" : JSON.stringify(body) };
  });
}
