import { BlockList, isIP } from "node:net";

/** Whether an address lies in one of the ranges (CIDR or single addresses, IPv4 or IPv6). */
export function addressInRanges(address: string, ranges: readonly string[]): boolean {
  const family = familyOf(address);
  if (family === undefined) return false;
  const list = new BlockList();
  for (const range of ranges) {
    const [base = "", bits] = range.split("/");
    const kind = familyOf(base);
    if (kind === undefined) continue;
    if (bits === undefined) list.addAddress(base, kind);
    else list.addSubnet(base, Number(bits), kind);
  }
  return list.check(address, family);
}

function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  return version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined;
}
