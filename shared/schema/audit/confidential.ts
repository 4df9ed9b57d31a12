/**
 * Members that show a secret, wherever they are in a resource or in an answer. The audit leaves them out. A test holds
 * every member of an answer that shows a secret against this list.
 */
export const secretMembers: ReadonlySet<string> = new Set([
  "client_secret",
  "secret",
  "access_token",
  "refresh_token",
  "id_token",
  "ticket",
  "signed_url",
]);

/**
 * Members of resources by their type that stay with these alone: the audit, which outlives a person's data, leaves them
 * out.
 */
export const unauditedMembers: Readonly<Record<string, readonly string[]>> = {
  review: ["comment", "internal_comment", "note", "verification"],
};
