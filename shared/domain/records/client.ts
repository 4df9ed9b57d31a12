import type { ClientBody } from "../../schema/client.ts";

/** A client as it is stored: the wire's fields, with two counters that move outside its version. */
export interface Client extends Omit<ClientBody, "object" | "name" | "_links"> {
  readonly tenant_id: string;
  /** Accounts that are not closed; closing the client needs 0. */
  readonly open_accounts: number;
  /** Seals what the audit keeps of the client; absent after an erasure. */
  readonly audit_key?: string;
}

/** The texts that a client is found by: the beginning of each. One that would be empty is left out. */
export interface FindTexts {
  /** Company name, or first and last name. */
  readonly name?: string;
  /** Last and first name. */
  readonly last_first?: string;
  /** The last word of a company name or a last name of several words. */
  readonly last_word?: string;
  readonly email?: string;
  /** Digits of the phone number. */
  readonly phone?: string;
  /** Number of an account. */
  readonly number?: string;
}

/** Texts that find a client, in one item of the table: names and email, a phone number, or the number of an account. */
export interface Findable extends FindTexts {
  readonly tenant_id: string;
  readonly client_id: string;
  /** The account of a number. */
  readonly account_id?: string;
}
