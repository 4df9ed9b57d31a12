import { Properties } from "../gateway/properties.ts";
import type { Resource } from "../template/assembly.ts";

/** A header that a policy adds to answers, also in the place of the origin's own where it overrides. */
export interface HeaderRule {
  readonly name: string;
  readonly value: string;
  readonly override: boolean;
}

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

/** The headers of an AWS::CloudFront::ResponseHeadersPolicy. Throws a ModelError for what is not implemented. */
export function readHeaders(policy: Resource): readonly HeaderRule[] {
  const config = Properties.of(policy).optionalNested("ResponseHeadersPolicyConfig");
  config?.only({ implemented: ["SecurityHeadersConfig", "CustomHeadersConfig"], ignored: ["Comment", "Name"] });
  const secure = config?.optionalNested("SecurityHeadersConfig")?.only({ implemented: Object.keys(security) });
  const secured = Object.entries(security).flatMap(([name, [header, members, value]]) => {
    const given = secure?.optionalNested(name)?.only({ implemented: ["Override", ...members] });
    return given === undefined ? [] : [{ name: header, value: value(given), override: given.flag("Override") }];
  });
  const custom = config?.optionalNested("CustomHeadersConfig")?.only({ implemented: ["Items"] });
  const added = (custom?.items("Items") ?? []).map((item) => {
    item.only({ implemented: ["Header", "Value", "Override"] });
    return { name: item.text("Header"), value: item.text("Value"), override: item.flag("Override") };
  });
  return [...secured, ...added];
}

/** Headers of an answer with those of a policy; names are compared without regard to case. */
export function withPolicy(
  headers: readonly (readonly [name: string, value: string])[],
  rules: readonly HeaderRule[],
): readonly (readonly [name: string, value: string])[] {
  const has = (name: string) => headers.some(([given]) => given.toLowerCase() === name.toLowerCase());
  const applied = rules.filter(({ name, override }) => override || !has(name));
  const replaced = new Set(applied.map(({ name }) => name.toLowerCase()));
  return [
    ...headers.filter(([name]) => !replaced.has(name.toLowerCase())),
    ...applied.map(({ name, value }) => [name, value] as const),
  ];
}
