import { Properties } from "../gateway/properties.ts";
import type { Resource } from "../template/assembly.ts";

/** Names and values of headers. */
export type Pairs = readonly (readonly [name: string, value: string])[];

type Reader = (given: Properties) => string;

/** Each security header with the members of its configuration that make its value. */
const security: Readonly<Record<string, readonly [header: string, members: readonly string[], value: Reader]>> = {
  ContentSecurityPolicy: [
    "Content-Security-Policy",
    ["ContentSecurityPolicy"],
    (given) => given.text("ContentSecurityPolicy"),
  ],
  ContentTypeOptions: ["X-Content-Type-Options", [], () => "nosniff"],
  FrameOptions: ["X-Frame-Options", ["FrameOption"], (given) => given.text("FrameOption")],
  ReferrerPolicy: ["Referrer-Policy", ["ReferrerPolicy"], (given) => given.text("ReferrerPolicy")],
  StrictTransportSecurity: [
    "Strict-Transport-Security",
    ["AccessControlMaxAgeSec", "IncludeSubdomains", "Preload"],
    (given) => {
      const parts = [`max-age=${given.number("AccessControlMaxAgeSec")}`];
      if (given.flag("IncludeSubdomains")) parts.push("includeSubDomains");
      if (given.flag("Preload")) parts.push("preload");
      return parts.join("; ");
    },
  ],
};

/** Headers that an AWS::CloudFront::ResponseHeadersPolicy adds to answers. Throws a ModelError for others. */
export function readHeaders(policy: Resource): Pairs {
  const config = Properties.of(policy).optionalNested("ResponseHeadersPolicyConfig");
  config?.only({ implemented: ["SecurityHeadersConfig", "CustomHeadersConfig"], ignored: ["Comment", "Name"] });
  const secure = config?.optionalNested("SecurityHeadersConfig")?.only({ implemented: Object.keys(security) });
  const overriding = { Override: true };
  const secured = Object.entries(security).flatMap(([name, [header, members, value]]) => {
    const given = secure?.optionalNested(name)?.only({ implemented: members, harmless: overriding });
    return given === undefined ? [] : [[header, value(given)] as const];
  });
  const custom = config?.optionalNested("CustomHeadersConfig")?.only({ implemented: ["Items"] });
  const added = (custom?.items("Items") ?? []).map((item) => {
    item.only({ implemented: ["Header", "Value"], harmless: overriding });
    return [item.text("Header"), item.text("Value")] as const;
  });
  return [...secured, ...added];
}

/** Headers of an answer with those of a policy in the place of its own; the case of names does not matter. */
export function withPolicy(headers: Pairs, policy: Pairs): Pairs {
  const replaced = new Set(policy.map(([name]) => name.toLowerCase()));
  return [...headers.filter(([name]) => !replaced.has(name.toLowerCase())), ...policy];
}
