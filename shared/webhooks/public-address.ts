import { BlockList, isIP } from "node:net";

/**
 * Ranges of IPv4 that have no owner on the public internet (IANA IPv4 Special-Purpose Address Registry). On Lambda the
 * runtime's own interface is in 127/8, and credentials are in 169.254/16.
 */
const blockedV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

/** All of IPv6 that is given out to the public; the loopback, private, link-local and NAT64 ranges lie outside. */
const globalV6 = ["2000::", 3] as const;

/** Ranges inside it that are not public, or that carry an IPv4 address of anybody's choice (2001::/32, 2002::/16). */
const blockedV6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const v4 = new BlockList();
for (const [net, bits] of blockedV4) v4.addSubnet(net, bits, "ipv4");
const global = new BlockList();
global.addSubnet(...globalV6, "ipv6");
const v6 = new BlockList();
for (const [net, bits] of blockedV6) v6.addSubnet(net, bits, "ipv6");
const loopbackV4 = new BlockList();
loopbackV4.addSubnet("127.0.0.0", 8, "ipv4");

/**
 * Whether an address may be connected to: it belongs to the public internet. `loopback` lets this machine through as
 * well, for a local runner. An IPv4 address inside an IPv6 one (`::ffff:…`) is judged by itself; what is no address in
 * the usual form, a zone or a port included, is refused.
 */
export function mayConnect(address: string, { loopback }: { readonly loopback: boolean }): boolean {
  const plain = unmapped(address);
  if (isIP(plain) === 4) return !v4.check(plain, "ipv4") || (loopback && loopbackV4.check(plain, "ipv4"));
  if (isIP(plain) !== 6 || plain.includes("%")) return false;
  if (loopback && expanded(plain) === expanded("::1")) return true;
  return global.check(plain, "ipv6") && !v6.check(plain, "ipv6");
}

/** The address of a host name that is one: `127.0.0.1`, `[::1]`. `URL` has brought other spellings to these two. */
export function literalAddress(hostname: string): string | undefined {
  const inner = hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
  return isIP(inner) === 0 ? undefined : inner;
}

/** The IPv4 address that an IPv4-mapped IPv6 address stands for; any other address as it is. */
function unmapped(address: string): string {
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(expanded(address) ?? "") ?? [];
  if (high === undefined || low === undefined) return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${first >> 8}.${first & 255}.${second >> 8}.${second & 255}`;
}

/** An IPv6 address in its one canonical form (RFC 5952), undefined for what is none. */
function expanded(address: string): string | undefined {
  if (isIP(address) !== 6 || address.includes("%")) return undefined;
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
