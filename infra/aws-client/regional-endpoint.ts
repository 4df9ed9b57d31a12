/** Settings that decide where a client calls. */
interface EndpointParameters {
  /** Address from the client's settings or from `AWS_ENDPOINT_URL_<SERVICE>`. */
  readonly Endpoint?: string;
  readonly Region?: string;
  readonly UseFIPS?: boolean;
  readonly UseDualStack?: boolean;
}

/** Regions of the partitions `aws`, `aws-us-gov` and `aws-cn`. */
const region = /^(?:us|us-gov|eu|ap|sa|ca|me|af|il|mx|cn)-[a-z]+-\d$/;

/**
 * Takes the place of a client's endpoint rules, which hold every partition and special case of the service: 15 KB. The
 * functions call their own region under its ordinary name, or the address that their environment sets.
 * @throws Error for FIPS and dual-stack endpoints and for regions of isolated partitions
 */
export function regionalEndpoint(service: string): (parameters: EndpointParameters) => { readonly url: URL } {
  return ({ Endpoint: given, Region: name = "", UseFIPS: fips, UseDualStack: dualStack }) => {
    if (fips || dualStack) throw new Error("FIPS and dual-stack endpoints are not in this bundle.");
    if (given !== undefined) return { url: new URL(given) };
    if (!region.test(name)) throw new Error(`This bundle knows no endpoint in the region "${name}".`);
    return { url: new URL(`https://${service}.${name}.amazonaws.com${name.startsWith("cn-") ? ".cn" : ""}`) };
  };
}
