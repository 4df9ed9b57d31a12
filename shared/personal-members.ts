/** Resources that are persons: what the audit keeps of them is sealed under a key of each. */
export type PersonKind = "client" | "operator";

/**
 * Members of a client and of an operator that tell who a person is, or hold what a brokerage wrote about them. The
 * audit keeps them sealed. A test holds every member of the two resources against this list and the next one.
 */
export const personalMembers: Readonly<Record<PersonKind, ReadonlySet<string>>> = {
  client: new Set([
    "email",
    "name",
    "first_name",
    "middle_name",
    "last_name",
    "company_name",
    "registration_number",
    "external_id",
    "phone",
    "date_of_birth",
    "nationality",
    "country",
    "address",
    "language",
    "time_zone",
    "tags",
    "suspended_reason",
    "verification",
    "metadata",
  ]),
  operator: new Set(["email", "name"]),
};

/** The other members: states and categories of the business, which say nothing of a person who is not known. */
export const impersonalMembers: Readonly<Record<PersonKind, readonly string[]>> = {
  client: [
    ...["id", "object", "type", "classification", "risk_level", "status", "closed_at", "verification_status"],
    ...["account_count", "created_at", "updated_at", "version", "_links"],
  ],
  operator: [
    ...["id", "object", "role", "scopes", "status", "proposed_change", "proposed_reset", "last_seen_at"],
    ...["created_at", "updated_at", "version", "_links"],
  ],
};

/**
 * Members of other resources that tell who the owner of a bank account, a card or a wallet is. The audit leaves them
 * out: the transaction keeps them, which no audit has to repeat.
 */
export const payeeMembers: ReadonlySet<string> = new Set(["holder", "iban", "wallet", "card_last4"]);
