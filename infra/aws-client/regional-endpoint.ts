/** What the SDK knows when it asks for an endpoint. */
interface EndpointParameters {
  /** Address from the client's settings or from `AWS_ENDPOINT_URL_<SERVICE>`. */
  readonly Endpoint?: string;
  readonly Region?: string;
  readonly UseFIPS?: boolean;
  readonly UseDualStack?: boolean;
}

interface Endpoint {
  readonly url: URL;
  readonly properties: Record<string, never>;
  readonly headers: Record<string, never>;
}

/**
 * Takes the place of a client's endpoint rules, which hold every partition and special case of the service: 15 KB. The
 * functions call their own region under its ordinary name, or the address that their environment sets.
 * @throws Error for FIPS and dual-stack endpoints and for regions of isolated partitions
 */
export function regionalEndpoint(service: string): (parameters: EndpointParameters) => Endpoint {
  const known = new Map<string, Endpoint>();
  return (parameters) => {
    const { Endpoint: given, Region: region = "", UseFIPS: fips, UseDualStack: dualStack } = parameters;
    if (fips || dualStack) throw new Error("FIPS and dual-stack endpoints are not in this bundle.");
    const key = given ?? region;
    const found = known.get(key) ?? { url: new URL(given ?? address(service, region)), properties: {}, headers: {} };
    known.set(key, found);
    return found;
  };
}

/** Regions of the partitions `aws`, `aws-us-gov` and `aws-cn`. */
const region = /^(?:us|us-gov|eu|ap|sa|ca|me|af|il|mx|cn)-[a-z]+-\d$/;

function address(service: string, name: string): string {
  if (!region.test(name)) throw new Error(`This bundle knows no endpoint in the region "${name}".`);
  return `https://${service}.${name}.amazonaws.com${name.startsWith("cn-") ? ".cn" : ""}`;
}
