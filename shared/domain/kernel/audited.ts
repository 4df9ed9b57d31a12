/** Members of a resource by their names. */
export type Members = Readonly<Record<string, unknown>>;

/** A resource that a command is about. */
export interface AuditedResource {
  readonly type: string;
  readonly id: string;
}

/** The members of a resource that a command changed. */
export interface AuditedChange {
  readonly resource: AuditedResource;
  /** As they were before; null for a resource that is new, or whose former state no event carries. */
  readonly before: Members | null;
  readonly after: Members;
}

/** Personal values of one person in an entry. */
export interface PersonalValues {
  /** Identifier of the client or operator. */
  readonly person: string;
  /** Where they are in the entry: JSON Pointers (RFC 6901). */
  readonly members: readonly string[];
  /** The values, in the order of their places. */
  readonly values: readonly unknown[];
}

/** The same, sealed. */
export interface SealedValues extends Pick<PersonalValues, "person" | "members"> {
  readonly text: string;
}
