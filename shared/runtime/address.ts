import { BlockList, isIP } from "node:net";

const widths = { ipv4: 32, ipv6: 128 } as const;

/** Whether an address lies in one of the ranges (CIDR or single addresses, IPv4 or IPv6). */
export function addressInRanges(address: string, ranges: readonly string[]): boolean {
  const family = familyOf(address);
  if (family === undefined) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [base = "", bits, ...more] = range.split("/");
    const kind = familyOf(base);
    // A range that is none must not open the door: an empty prefix would read as /0, which holds every address.
    if (kind === undefined || more.length > 0) continue;
    if (bits === undefined) list.addAddress(base, kind);
    else if (/^\d{1,3}$/.test(bits) && Number(bits) <= widths[kind]) list.addSubnet(base, Number(bits), kind);
  }
  return list.check(address, family);
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}
