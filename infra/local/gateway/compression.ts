import { deflateSync, gzipSync } from "node:zlib";
import { allValues, type Exchange, lastValue, type Reply } from "./exchange.ts";

const codings = { gzip: gzipSync, deflate: deflateSync } as const;
type Coding = keyof typeof codings;

/**
 * The answer of an integration as a caller gets it who accepts a coding that API Gateway knows (AWS docs: "Receive an
 * API response with a compressed payload"): compressed from the size on that the API names, unless it has a coding
 * already. What the caller would like best must be a coding that API Gateway knows, or nothing is compressed.
 */
export function compressed(reply: Reply, { headers }: Exchange, fromBytes: number | undefined): Reply {
  if (fromBytes === undefined || reply.body.length === 0 || reply.body.length < fromBytes) return reply;
  if (lastValue(reply.headers, "Content-Encoding") !== undefined) return reply;
  const coding = preferred(allValues(headers, "Accept-Encoding").join(","));
  if (coding === undefined) return reply;
  return { ...reply, headers: [...reply.headers, ["Content-Encoding", coding]], body: codings[coding](reply.body) };
}

/** The coding that a caller would like best, the first of equals; undefined for one that is not known here. */
function preferred(accepted: string): Coding | undefined {
  const wishes = accepted.split(",").map((wish) => {
    const [name = "", ...parameters] = wish.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    return { name, weight: Number(weight) };
  });
  const [best] = wishes.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight);
  return best !== undefined && Object.hasOwn(codings, best.name) ? (best.name as Coding) : undefined;
}
