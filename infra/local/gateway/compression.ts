import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { allValues, type Exchange, type HeaderList, lastValue, type Reply } from "./exchange.ts";
import { Fault } from "./fault.ts";

const codings = { gzip: gzipSync, deflate: deflateSync } as const;
type Coding = keyof typeof codings;

/**
 * The answer of an integration as a caller gets it who accepts a coding that API Gateway knows (AWS docs: "Receive an
 * API response with a compressed payload"): compressed from the size on that the API names, unless it has a coding
 * already. The coding that the caller prefers must be one that API Gateway knows, or nothing is compressed.
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

const decoders: Readonly<Record<string, (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  identity: (body) => body,
};

/**
 * The body of a request without its content coding (AWS docs: "Call an API method with a compressed payload"): a coding
 * that API Gateway does not know is refused, and so is a body that has another one. The bound counts what it is then.
 * @throws Fault UNSUPPORTED_MEDIA_TYPE, REQUEST_TOO_LARGE
 */
export function decompressed(body: Buffer, headers: HeaderList, mostBytes: number): Buffer {
  const coding = allValues(headers, "Content-Encoding").join(",").trim().toLowerCase();
  if (coding === "" || body.length === 0) return body;
  const decode = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  if (decode === undefined) throw new Fault("UNSUPPORTED_MEDIA_TYPE", { reason: "the content coding is not known" });
  try {
    return decode(body, { maxOutputLength: mostBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw new Fault("REQUEST_TOO_LARGE");
    throw new Fault("UNSUPPORTED_MEDIA_TYPE", { reason: "the body has another content coding" });
  }
}
