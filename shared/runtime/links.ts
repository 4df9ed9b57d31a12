import { env } from "./env.ts";

const version = "/v2/";

/**
 * Absolute address of a path that begins with the version, built from the configured address and never from the Host
 * header; any other address is returned as it is.
 */
export function absolute(address: string): string {
  return address.startsWith(version) ? env.publicBaseUrl + address.slice(version.length - 1) : address;
}

/** A resource with absolute links of its own; what has none is returned as it is. */
export function linked(resource: unknown): unknown {
  if (typeof resource !== "object" || resource === null || !("_links" in resource)) return resource;
  const links = resource._links as Readonly<Record<string, { readonly href: string }>>;
  const shown = Object.entries(links).map(([relation, link]) => [relation, { ...link, href: absolute(link.href) }]);
  return { ...resource, _links: Object.fromEntries(shown) };
}

/** An event with absolute links of the resource in its data. */
export function linkedEvent<E extends Readonly<Record<string, unknown>>>(event: E): E {
  const data = event["data"];
  if (typeof data !== "object" || data === null || !("object" in data)) return event;
  return { ...event, data: { ...data, object: linked(data.object) } };
}
