import { Resolver } from "node:dns/promises";

/** Finds every address of a host name. Rejects with the code of the last failure when it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * Asks name servers themselves, for both families at once. Not `dns.lookup`: it blocks one of four threads for as long
 * as a slow server pleases, completes short names by search domains, and reads the machine's own list of hosts.
 * `servers` are addresses with ports, by default those that the machine is set up with.
 */
export function resolverOf({ servers }: { readonly servers?: readonly string[] } = {}): Resolve {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    // RFC 6761 6.3: this name is never asked for, and stands for the machine itself.
    if (/^(?:.+\.)?localhost\.?$/i.test(hostname)) return ["127.0.0.1", "::1"];
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    const failure = found.find((answer) => answer.status === "rejected");
    if (addresses.length === 0 && failure !== undefined) throw failure.reason;
    return addresses;
  };
}
