/** A deal as the venue reports it. Numbers are plain decimals as text. */
export interface Fill {
  readonly deal_id: string;
  readonly platform_login: string;
  readonly symbol: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly price: string;
  /** RFC 3339. */
  readonly at?: string | undefined;
  /** The position that the deal opened, raised or closed, where the venue names positions. */
  readonly position_id?: string | undefined;
  /** Whether the deal opens or closes; without it the book decides. */
  readonly effect?: "open" | "close" | undefined;
  /** Money that the venue booked with the deal. */
  readonly profit?: string | undefined;
  readonly commission?: string | undefined;
  readonly reason?: "client" | "stop_out" | undefined;
  /** Names of the order that it filled. */
  readonly orders?: readonly string[];
  /** Ids of the trade that the other form of its report carries too, where a venue reports each deal in two forms. */
  readonly trade?: { readonly form: "execution" | "capture"; readonly ids: readonly string[] };
}

/** Money that the venue moved. The amount is signed as on the account. */
export interface MoneyMoved {
  readonly operation_id: string;
  readonly platform_login: string;
  readonly amount: string;
  readonly at?: string | undefined;
  /** The comment of the operation, when it is that of a command. */
  readonly reference?: string | undefined;
}

/** A change of a balance for which the venue reports no operation: the books of both sides then differ. */
export interface Adjusted {
  readonly platform_login: string;
  readonly amount: string;
}

/** Terms of an account that the venue set. */
export interface TermsSet {
  readonly change_id: string;
  readonly platform_login: string;
  readonly at?: string | undefined;
  readonly terms: AccountTerms;
}

/** Terms of an account, those that are set. */
export interface AccountTerms {
  readonly leverage?: number;
  readonly group?: string;
  readonly access?: "full" | "close_only" | "none";
}

/** Something that happened at the venue. */
export type VenueEvent =
  | ({ readonly kind: "adjusted" } & Adjusted)
  | { readonly kind: "fill"; readonly fill: Fill }
  | { readonly kind: "money"; readonly money: MoneyMoved }
  | { readonly kind: "terms"; readonly change: TermsSet };

/** A price of the venue. */
export interface VenueQuote {
  readonly symbol: string;
  readonly bid: string;
  readonly ask: string;
}

/** Result of a command, in the form in which it is acknowledged. */
export interface CommandOutcome {
  readonly status: "done" | "failed" | "unknown" | "not_sent";
  readonly operation_id?: string | null;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A command that moves money, or that looks for an operation by its comment. */
export interface MoneyCommand {
  readonly command_id: string;
  readonly type: "balance_operation" | "credit_operation" | "find_operation";
  readonly platform_login: string;
  readonly amount: string;
  readonly currency: string;
  readonly comment: string;
}

/** A command that closes a position. */
export interface CloseCommand {
  readonly command_id: string;
  readonly platform_login: string;
  readonly position_id: string;
  readonly symbol: string;
  /** The side of the order: the opposite of that of the position. */
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly reason: "client" | "stop_out";
}

/** A command that sets a term of an account. Setting it twice is the same as setting it once. */
export interface TermsCommand {
  readonly command_id: string;
  readonly platform_login: string;
  readonly terms: AccountTerms;
}

/** Where a venue puts what happens. */
export interface VenueSink {
  /**
   * Records events. `cursor` is the place in the venue's own order that is reached with them: after a crash the venue
   * reports everything after the last cursor that is on the disk again.
   */
  record(events: readonly VenueEvent[], cursor: number): void;
  quote(quote: VenueQuote): void;
  /** Ends the bridge: the venue cannot go on without a person, and the error says why. */
  fail(error: Error): void;
}

/** A trading venue, as the bridge uses it. */
export interface Venue {
  /** Whether the events hold all money of their accounts from their beginning, so that the bridge knows balances. */
  readonly knowsBalances: boolean;
  /** Whether an operation that a command asked for is an event; otherwise the outcome of the command reports it. */
  readonly reportsMoney: boolean;
  /** Connects, and reports what happened after the cursor; 0 is the beginning. */
  start(cursor: number, sink: VenueSink): Promise<void>;
  /** Carries out a command once; an outcome that cannot be known is `unknown`. */
  money(command: MoneyCommand): Promise<CommandOutcome>;
  /**
   * Outcome of a command that moved money while the bridge was killed. Without it that is `unknown`: the service asks
   * to look for the operation, and a person decides.
   */
  interrupted?(platform_login: string, comment: string): CommandOutcome;
  /** Sends the order that closes a position; its fill is an event of its own. */
  close(command: CloseCommand): Promise<CommandOutcome>;
  /** Sets a term of an account; the change is an event of its own. Without it such commands fail. */
  setTerms?(command: TermsCommand): Promise<CommandOutcome>;
  stop(): Promise<void>;
}
