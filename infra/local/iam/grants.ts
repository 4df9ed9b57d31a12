/** A statement of a function's role, or the use of one. */
export interface Grant {
  readonly function: string;
  readonly action: string;
  readonly resource: string;
  /** Sid of the statement, or its number. */
  readonly statement: string;
}

/** A grant that nothing used; `reason` tells why nothing on this machine can. */
export interface UnusedGrant extends Grant {
  readonly reason?: string;
}

/** Services that functions use without a call that this runner sees. */
const unseenServices: Readonly<Record<string, string>> = {
  logs: "logs are files here, written by the runner",
  xray: "no traces are kept here",
};

/** Name that a grant shares with each use of it: `function statement action`. */
export function grantName({ function: user, statement, action }: Grant): string {
  return `${user} ${statement} ${action}`;
}

/** The grants of which no use is named, on one stack or on several with the same roles. */
export function unusedAmong(grants: readonly Grant[], used: ReadonlySet<string>): UnusedGrant[] {
  return grants
    .filter((grant) => !used.has(grantName(grant)))
    .map((grant) => {
      const reason = unseenServices[grant.action.split(":")[0] ?? ""];
      return { ...grant, ...(reason !== undefined && { reason }) };
    });
}

/** Names of the grants that no use is named of, although something on this machine can use them; each once. */
export function neverNeeded(grants: readonly Grant[], used: ReadonlySet<string>): string[] {
  return [
    ...new Set(
      unusedAmong(grants, used)
        .filter(({ reason }) => reason === undefined)
        .map(grantName),
    ),
  ];
}
