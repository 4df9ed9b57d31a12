import * as z from "zod/mini";
import {
  CalendarDate,
  Country,
  createdRange,
  EmailText,
  identifier,
  Metadata,
  MetadataPatch,
  name,
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
const Status = z.enum(["active", "suspended", "closed"]);
const VerificationStatus = z.enum(["unverified", "pending", "verified", "rejected", "expired"]);

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

const Address = z.strictObject({
  line1: text(200),
  line2: z.optional(z.nullable(text(200))),
  city: text(100),
  region: z.optional(z.nullable(text(100))),
  postal_code: z.optional(z.nullable(identifier(20))),
  country: Country,
});

/**
 * Trimmed, lower-cased and normalised (NFC) before it is checked and stored, so that two spellings are one address; it
 * holds no character that is not seen.
 */
export const Email = z.pipe(
  z.pipe(
    z.string(),
    z.transform((value: string) => value.trim().toLowerCase().normalize("NFC")),
  ),
  z
    .string()
    .check(
      z.maxLength(254),
      z.regex(
        /^[^\s@<>()[\],;:"\\\p{Cc}\p{Cs}\p{Cf}\p{DI}]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/u,
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
  external_id: z.nullable(identifier(64)),
  middle_name: z.nullable(name(100)),
  phone: z.nullable(Phone),
  date_of_birth: z.nullable(CalendarDate),
  nationality: z.nullable(Country),
  country: z.nullable(Country),
  address: z.nullable(Address),
  registration_number: z.nullable(identifier(200)),
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
  language: z.optional(Language),
  time_zone: z.optional(TimeZone),
  classification: z.optional(Classification),
  risk_level: z.optional(RiskLevel),
  tags: z.optional(Tags),
  metadata: z.optional(Metadata),
};

/** `POST /clients`: email and names are enough; a corporate client names its company instead. */
export const CreateClientRequest = z.strictObject({
  type: z.optional(ClientType),
  email: Email,
  first_name: z.optional(name(100)),
  last_name: z.optional(name(100)),
  company_name: z.optional(name(200)),
  ...optionalProfile,
});

const VerificationPatch = z.strictObject({
  level: z.optional(z.enum(["none", "basic", "full"])),
  provider: z.optional(z.nullable(name(64))),
  reference: z.optional(z.nullable(identifier(128))),
  expires_at: z.optional(z.nullable(TimestampInput)),
  rejection_reasons: z.optional(z.array(RejectionReason).check(z.maxLength(10))),
});

/** `PATCH /clients/{id}`, a merge patch (RFC 7396). */
export const UpdateClientRequest = z.strictObject({
  email: z.optional(Email),
  first_name: z.optional(name(100)),
  last_name: z.optional(name(100)),
  company_name: z.optional(name(200)),
  ...optionalProfile,
  metadata: z.optional(MetadataPatch),
  status: z.optional(Status),
  suspended_reason: z.optional(z.nullable(text(500))),
  verification_status: z.optional(VerificationStatus),
  verification: z.optional(VerificationPatch),
});

/** Query of `GET /clients`. */
export const ListClientsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  status: z.optional(setOf(Status.options)),
  verification_status: z.optional(setOf(VerificationStatus.options)),
  country: z.optional(Country),
  email: z.optional(Email),
  external_id: z.optional(identifier(64)),
  tag: z.optional(name(50)),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** A client as the API shows it. */
export const BrokerageClient = z.object({
  id: z.string(),
  object: z.literal("client"),
  type: ClientType,
  email: EmailText,
  first_name: z.nullable(z.string()),
  last_name: z.nullable(z.string()),
  company_name: z.nullable(z.string()),
  ...profile,
  language: z.string(),
  time_zone: z.string(),
  classification: Classification,
  risk_level: RiskLevel,
  tags: z.array(z.string()),
  status: Status,
  suspended_reason: z.nullable(z.string()),
  closed_at: z.nullable(Timestamp),
  verification_status: VerificationStatus,
  verification: z.object({
    level: z.enum(["none", "basic", "full"]),
    provider: z.nullable(z.string()),
    reference: z.nullable(z.string()),
    submitted_at: z.nullable(Timestamp),
    verified_at: z.nullable(Timestamp),
    verified_by: z.nullable(z.string()),
    expires_at: z.nullable(Timestamp),
    rejection_reasons: z.array(RejectionReason),
  }),
  account_count: z.int(),
  ...resourceFields,
});

/** Body of `POST /clients` after validation. */
export type CreateClient = z.infer<typeof CreateClientRequest>;
/** Body of `PATCH /clients/{id}` after validation. */
export type UpdateClient = z.infer<typeof UpdateClientRequest>;
/** A client on the wire. */
export type ClientBody = z.infer<typeof BrokerageClient>;
