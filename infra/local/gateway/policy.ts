/** Verdict of a policy on one method: silence is a denial too, but an implicit one. */
export type Verdict = "allow" | "explicit_deny" | "implicit_deny";

/** Why a policy cannot be used. */
export class PolicyError extends Error {}

/** Longest resource in a policy that API Gateway takes (AWS docs: output from a Lambda authorizer). */
const resourceLimit = 512;

/** `*` stands for any text, slashes and colons included, and `?` for one character. */
function matches(pattern: string, value: string, caseSensitive: boolean): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  const expression = `^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`;
  return new RegExp(expression, caseSensitive ? "s" : "si").test(value);
}

function texts(value: unknown, name: string): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((text) => {
    if (typeof text !== "string") throw new PolicyError(`${name} must be a text or a list of texts`);
    return text;
  });
}

function applies(statement: Record<string, unknown>, methodArn: string): boolean {
  for (const name of ["Condition", "NotAction", "NotResource", "Principal", "NotPrincipal"]) {
    if (name in statement) throw new PolicyError(`${name} is not implemented by the local gateway`);
  }
  const actions = texts(statement["Action"], "Action");
  const resources = texts(statement["Resource"], "Resource");
  if (resources.some((resource) => resource.length > resourceLimit)) {
    throw new PolicyError(`a resource is longer than ${resourceLimit} characters`);
  }
  return (
    actions.some((action) => matches(action, "execute-api:Invoke", false)) &&
    resources.some((resource) => matches(resource, methodArn, true))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Evaluates the policy document of an authorizer for the ARN of a method. Every statement is looked at, so a broken
 * one fails whatever the others say. Throws a PolicyError when the document is no policy.
 */
export function evaluatePolicy(document: unknown, methodArn: string): Verdict {
  if (!isRecord(document)) throw new PolicyError("policyDocument must be an object");
  const statements: unknown = document["Statement"];
  const list: unknown[] = Array.isArray(statements) ? statements : [statements];
  let verdict: Verdict = "implicit_deny";
  for (const statement of list) {
    if (!isRecord(statement)) throw new PolicyError("Statement must be an object or a list of objects");
    const effect = statement["Effect"];
    if (effect !== "Allow" && effect !== "Deny") throw new PolicyError("Effect must be Allow or Deny");
    if (!applies(statement, methodArn) || verdict === "explicit_deny") continue;
    verdict = effect === "Deny" ? "explicit_deny" : "allow";
  }
  return verdict;
}
