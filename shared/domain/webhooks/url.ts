import { limits } from "../../limits.ts";

/** Names that mean the machine itself (RFC 6761 6.3). */
const loopbackName = /^(?:.+\.)?localhost$/;
const loopbackLiteral = /^(?:127(?:\.\d{1,3}){3}|\[::1\])$/;
const literal = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/;

/**
 * The fault in the address of a webhook endpoint, or undefined. The parser is that of the sender (WHATWG URL), so an
 * address literal in any spelling is one here: decimal, octal, hexadecimal, percent-encoded or IPv6. `local` is a
 * runner on one machine, which may send to itself and in clear. Where a name leads is looked at by every attempt.
 */
export function urlFault(text: string, local: boolean): string | undefined {
  if (text.length > limits.webhooks.url_max_characters) {
    return `must have at most ${limits.webhooks.url_max_characters} characters`;
  }
  // The parser strips spaces and takes a backslash for a slash; what is shown must be what is called.
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes("\\")) return "must be ASCII without spaces and backslashes";
  if (!URL.canParse(text)) return "must be an absolute https URL";
  const url = new URL(text);
  const host = url.hostname.replace(/\.$/, "");
  const loopback = local && (loopbackName.test(host) || loopbackLiteral.test(host));
  const { protocol } = url;
  if (protocol !== "https:" && !(loopback && protocol === "http:")) return "must begin with https://";
  if (!/^https?:\/\/[^/]/i.test(text)) return "must name its host after two slashes";
  if (/^https?:\/\/[^/?#]*@/i.test(text)) return "must not hold a user name or password";
  if (text.includes("#")) return "must not hold a fragment";
  if (loopback) return undefined;
  const port = Number(url.port === "" ? "443" : url.port);
  if (port !== 443 && port < 1024) return "must use port 443 or one from 1024 on";
  if (literal.test(host)) return "must name a host, not an IP address";
  if (loopbackName.test(host) || !host.includes(".")) return "must name a public host";
  return undefined;
}
