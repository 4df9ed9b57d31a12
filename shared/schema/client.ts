import * as z from "zod/mini";
import { limits } from "../limits.ts";
import { described } from "./described.ts";
import {
  CalendarDate,
  Country,
  createdRange,
  EmailText,
  identifier,
  Metadata,
  MetadataPatch,
  name,
  ownFields,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  TimestampInput,
  text,
} from "./fields.ts";

const ClientType = z.enum(["individual", "corporate"]);
const Classification = z.enum(["retail", "professional", "eligible_counterparty"]);
const RiskLevel = z.enum(["low", "medium", "high"]);
/** Statuses of a client. */
export const clientStatuses = ["active", "suspended", "closed"] as const;
const Status = z.enum(clientStatuses);
/** How far the verification of a client may be. */
export const verificationStatuses = ["unverified", "pending", "verified", "rejected", "expired"] as const;
/** How far a verification is. */
export const VerificationStatus = z.enum(verificationStatuses);

/** Why a verification was rejected. */
export const RejectionReason = z.enum([
  "identity_verification",
  "address_verification",
  "date_of_birth",
  "tax_identification",
  "pep",
  "watchlist_hit",
  "country_not_supported",
  "document_expired",
  "document_unreadable",
  "other",
]);

/** Parts of an identity that can be checked. */
export const IdentityCheck = z.enum([
  "identity_document",
  "liveness",
  "address",
  "phone",
  "email",
  "sanctions",
  "pep",
  "adverse_media",
  "source_of_funds",
  "company",
]);
const { max_reasons, max_comment, max_internal_comment } = limits.verification;
const checksText = "Checks that passed; one that failed is a reason of a rejection.";
const retryText = "Of a rejection: whether the client may be asked again; false is final.";
const commentText = "Comment for the client; events carry it.";

const Address = z.strictObject({
  line1: described(text(200), "Street and number."),
  line2: described(z.optional(z.nullable(text(200))), "Second address line."),
  city: described(text(100), "City."),
  region: described(z.optional(z.nullable(text(100))), "State or region."),
  postal_code: described(z.optional(z.nullable(identifier(20))), "Postal code."),
  country: described(Country, "Country code (ISO 3166-1 alpha-2)."),
});

/**
 * An address whose domain has letters beyond ASCII with the A-labels of these (RFC 5891): both spellings are one
 * address. Other domains stay as they are, and so does one that no mail can reach, which the pattern then refuses: the
 * conversion makes `0.0.0.1` of `１`, and drops invisible characters.
 */
export function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf("@") + 1;
  const domain = address.slice(at);
  const isAscii = /^\p{ASCII}*$/u.test(domain);
  if (isAscii || /[^a-z0-9.\P{ASCII}-]|[\p{Cf}\p{DI}]/u.test(domain)) return address;
  const url = `https://${domain}`;
  const labels = URL.canParse(url) ? new URL(url).hostname.split(".") : [];
  const fits =
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9-]{1,63}$/.test(label)) &&
    !labels.every((label) => /^\d+$/.test(label));
  return fits ? address.slice(0, at) + labels.join(".") : address;
}

/**
 * Trimmed, lower-cased, normalised (NFC) and with an ASCII domain before it is checked and stored, so that two
 * spellings are one address. Invisible characters are rejected.
 */
export const Email = z.pipe(
  z.pipe(
    z.string(),
    z.transform((value: string) => withAsciiDomain(value.trim().toLowerCase().normalize("NFC"))),
  ),
  z
    .string()
    .check(
      z.maxLength(254),
      z.regex(
        /^[^\s@<>()[\],;:"\\\p{Cc}\p{Cs}\p{NChar}\ufffd\p{Cf}\p{DI}]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/u,
        "must be an email address without invisible characters",
      ),
    ),
);

const Phone = z
  .string()
  .check(z.regex(/^\+[1-9]\d{6,14}$/, "must be a phone number in E.164 form such as +351912345678"));
const Language = z.string().check(z.regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, "must be a language tag (BCP 47)"));
const TimeZone = z
  .string()
  .check(
    z.maxLength(50),
    z.regex(/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/, "must be a time zone name (IANA)"),
  );
const Tags = z.array(name(50)).check(z.maxLength(20));

const profile = {
  external_id: described(
    z.nullable(identifier(64)),
    "Your own identifier, without invisible characters; unique per resource type.",
  ),
  middle_name: described(z.nullable(name(100)), "Middle names."),
  phone: described(z.nullable(Phone), "Phone number in E.164 format."),
  date_of_birth: described(z.nullable(CalendarDate), "Date of birth; the client must be of legal age."),
  nationality: described(z.nullable(Country), "Nationality (ISO 3166-1 alpha-2)."),
  country: described(z.nullable(Country), "Country of residence (ISO 3166-1 alpha-2)."),
  address: described(z.nullable(Address), "Postal address."),
  registration_number: described(z.nullable(identifier(200)), "Number in the company register."),
};

const optionalProfile = {
  external_id: z.optional(profile.external_id),
  middle_name: z.optional(profile.middle_name),
  phone: z.optional(profile.phone),
  date_of_birth: z.optional(profile.date_of_birth),
  nationality: z.optional(profile.nationality),
  country: z.optional(profile.country),
  address: z.optional(profile.address),
  registration_number: z.optional(profile.registration_number),
  language: described(z.optional(Language), "Language tag (BCP 47)."),
  time_zone: described(z.optional(TimeZone), "Time zone name (IANA)."),
  classification: described(z.optional(Classification), "Client category under investor protection rules."),
  risk_level: described(z.optional(RiskLevel), "Your own risk rating of the client."),
  tags: described(z.optional(Tags), "Your own labels."),
  metadata: described(
    z.optional(Metadata),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
};

const firstName = "Given name; an individual client has this or `last_name`.";
const lastName = "Family name; an individual client has this or `first_name`.";
const emailText =
  "Email address; trimmed, lower-cased, normalised (NFC) and with the domain in ASCII (IDNA), unique among the " +
  "clients of the brokerage.";

/** `POST /clients`: the email and a name are required, of a person the first or the last one. */
export const CreateClientRequest = z.strictObject({
  type: described(z.optional(ClientType), "Client type: `individual` or `corporate`."),
  email: described(Email, emailText),
  first_name: described(z.optional(z.nullable(name(100))), firstName),
  last_name: described(z.optional(z.nullable(name(100))), lastName),
  company_name: described(z.optional(name(200)), "Company name; required for corporate clients."),
  ...optionalProfile,
});

const VerificationPatch = z.strictObject({
  level: described(z.optional(z.enum(["none", "basic", "full"])), "Level of the verification."),
  provider: described(z.optional(z.nullable(name(64))), "Identity verification provider."),
  reference: described(z.optional(z.nullable(identifier(128))), "The provider's reference."),
  verified_at: described(
    z.optional(TimestampInput),
    "Time of the verification, where another system made it: at most now, and before `expires_at`. Now if omitted.",
  ),
  expires_at: described(
    z.optional(z.nullable(TimestampInput)),
    "Expiry of the verification, in the future if the client is verified; null if it does not expire.",
  ),
  checks: described(z.optional(z.array(IdentityCheck).check(z.maxLength(IdentityCheck.options.length))), checksText),
  rejection_reasons: described(
    z.optional(z.array(RejectionReason).check(z.maxLength(max_reasons))),
    "Reasons why the verification was rejected.",
  ),
  retry_allowed: described(z.optional(z.nullable(z.boolean())), `${retryText} True if omitted.`),
  comment: described(z.optional(z.nullable(text(max_comment))), commentText),
  internal_comment: described(
    z.optional(text(max_internal_comment)),
    "Comment that the client never sees: it is kept with the review of this decision alone.",
  ),
});

/** `PATCH /clients/{id}`, a merge patch (RFC 7396). */
export const UpdateClientRequest = z.strictObject({
  email: described(z.optional(Email), emailText),
  first_name: described(z.optional(z.nullable(name(100))), firstName),
  last_name: described(z.optional(z.nullable(name(100))), lastName),
  company_name: described(z.optional(name(200)), "Company name; required for corporate clients."),
  ...optionalProfile,
  metadata: described(
    z.optional(MetadataPatch),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
  status: described(z.optional(Status), "Client status."),
  suspended_reason: described(
    z.optional(z.nullable(text(500))),
    "Reason for the suspension; null if the client is not suspended.",
  ),
  verification_status: described(z.optional(VerificationStatus), "Verification status of the client."),
  verification: described(z.optional(VerificationPatch), "Result of the verification."),
});

/** Query of `GET /clients`. */
export const ListClientsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: described(z.optional(setOf(Status.options)), "Client statuses, separated by commas."),
  verification_status: described(
    z.optional(setOf(VerificationStatus.options)),
    "Verification statuses, separated by commas.",
  ),
  country: described(z.optional(Country), "Country of residence (ISO 3166-1 alpha-2)."),
  email: described(
    z.optional(Email),
    "Email address, compared after trimming, lower-casing, normalisation (NFC) and with the domain in ASCII (IDNA).",
  ),
  external_id: described(
    z.optional(identifier(64)),
    "Your own identifier, without invisible characters; unique per resource type.",
  ),
  tag: described(z.optional(name(50)), "Clients with this tag."),
  search: described(
    z.optional(text(limits.search.max_raw_characters)),
    "The beginning of a name (first or last name first), of the last word of a name, of a company name, an email " +
      "address, a phone number or an account number (3 digits or more), or a whole `external_id`: 2 to 64 " +
      "characters. Case, accents and punctuation do not count. Goes with `limit` alone, of at most 25.",
  ),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** Query of `GET /clients/queue`. */
export const ListClientQueueQuery = z.strictObject({
  ...pageParameters,
  kind: described(
    z.optional(z.enum(["decision", "renewal"])),
    "`decision` (default) for clients whose verification is pending, `renewal` for verifications that end.",
  ),
  within_days: described(
    z.optional(z.string().check(z.regex(/^(?:\d|[1-9]\d|[12]\d\d|3[0-5]\d|36[0-5])$/, "must be 0 to 365"))),
    "With `kind=renewal`: days within which the verification ends, 0 to 365, 30 if omitted. Ended ones are included.",
  ),
});

/** Result of a verification in responses. */
export const Verification = z.object({
  level: described(z.enum(["none", "basic", "full"]), "Level of the verification."),
  provider: described(z.nullable(z.string()), "Identity verification provider."),
  reference: described(z.nullable(z.string()), "The provider's reference."),
  submitted_at: described(z.nullable(Timestamp), "Time at which verification was requested; null if it was not."),
  verified_at: described(z.nullable(Timestamp), "Time of verification; null before."),
  verified_by: described(
    z.nullable(z.string()),
    "Identifier of the application or operator that verified the client; null before.",
  ),
  expires_at: described(
    z.nullable(Timestamp),
    "Expiry of the verification: from then on the status is `expired`; null if it does not expire.",
  ),
  checks: described(z.array(IdentityCheck), checksText),
  rejection_reasons: described(z.array(RejectionReason), "Reasons why the verification was rejected."),
  retry_allowed: described(z.nullable(z.boolean()), `${retryText} Null unless rejected.`),
  comment: described(z.nullable(z.string()), commentText),
});

/** A client in responses. */
export const BrokerageClient = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("client"), "Resource type; always this value."),
  type: described(ClientType, "Client type: `individual` or `corporate`."),
  email: described(EmailText, emailText),
  name: described(z.string(), "Company name, or first, middle and last name; computed, never sent."),
  first_name: described(z.nullable(z.string()), firstName),
  last_name: described(z.nullable(z.string()), lastName),
  company_name: described(z.nullable(z.string()), "Company name; required for corporate clients."),
  ...profile,
  language: described(z.string(), "Language tag (BCP 47)."),
  time_zone: described(z.string(), "Time zone name (IANA)."),
  classification: described(Classification, "Client category under investor protection rules."),
  risk_level: described(RiskLevel, "Your own risk rating of the client."),
  tags: described(z.array(z.string()), "Your own labels."),
  status: described(Status, "Client status."),
  suspended_reason: described(
    z.nullable(z.string()),
    "Reason for the suspension; null if the client is not suspended.",
  ),
  closed_at: described(z.nullable(Timestamp), "Time of closing; null while the client is not closed."),
  verification_status: described(VerificationStatus, "Verification status of the client."),
  verification: described(Verification, "Result of the verification."),
  account_count: described(z.int(), "Number of the client's accounts."),
  ...resourceFields,
});

/** A client in short, where another resource is shown with it. */
export const ClientSummary = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("client"), "Resource type; always this value."),
  type: described(ClientType, "Client type: `individual` or `corporate`."),
  name: described(z.string(), "Company name, or the names of the person with a space between them."),
  external_id: described(z.nullable(z.string()), "Your own identifier."),
  status: described(Status, "Client status."),
  verification_status: described(VerificationStatus, "Verification status of the client."),
  _links: ownFields._links,
});

/** Parameter of lists of what belongs to clients. */
export const clientExpansion = {
  expand: described(
    z.optional(z.enum(["client"])),
    "Adds the client to each item; the caller needs the scope `clients:read`, too.",
  ),
};

/** Member that `expand=client` adds to an item. */
export const expandedClient = {
  client: described(
    z.optional(ClientSummary),
    "The client that owns it, as it is now; in lists with `expand=client` alone, absent if there is no such client.",
  ),
};

/** Body of `POST /clients` after validation. */
export type CreateClient = z.infer<typeof CreateClientRequest>;
/** Body of `PATCH /clients/{id}` after validation. */
export type UpdateClient = z.infer<typeof UpdateClientRequest>;
/** A client in short, on the wire. */
export type ClientSummaryBody = z.infer<typeof ClientSummary>;
/** A client on the wire. */
export type ClientBody = z.infer<typeof BrokerageClient>;
