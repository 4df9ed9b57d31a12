/**
 * Takes the place of `@aws-sdk/middleware-endpoint-discovery`. DynamoDB knows its endpoint by its region, and no
 * operation of it asks another endpoint first; the cache for what such a question would find costs 12 KB.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = { environmentVariableSelector: () => undefined, default: false };

interface DiscoveryConfig {
  readonly endpointDiscoveryEnabled?: boolean;
}

/**
 * The client's settings with discovery switched off.
 * @throws Error when a client asks for it
 */
export function resolveEndpointDiscoveryConfig<T extends DiscoveryConfig>(input: T) {
  if (input.endpointDiscoveryEnabled === true) throw new Error("Endpoint discovery is not in this bundle.");
  const endpointDiscoveryEnabled = async () => false;
  return Object.assign(input, { endpointDiscoveryEnabled, isClientEndpointDiscoveryEnabled: false });
}
