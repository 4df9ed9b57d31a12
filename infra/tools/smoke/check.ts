import type { Session } from "./session.ts";
import type { Story } from "./story.ts";

/** How the checks behave. */
export interface SmokeOptions {
  /** Address of the API with its version, without a slash at the end. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Address of the dashboard; without it nothing is checked there. */
  readonly dashboardUrl?: string | undefined;
  /** Public address that answers 2xx to webhooks; without it the service posts to itself, which it refuses. */
  readonly receiver?: string | undefined;
  /** Claims that access tokens must have; those of the stage when undefined. */
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  /** Names of the checks to run; all when undefined. */
  readonly only?: readonly string[] | undefined;
  /** Leaves out the checks that wait a minute or more. */
  readonly quick: boolean;
  /** How much faster business delays pass, which only a local runner has. */
  readonly timeScale: number;
  /** Time for an event, a delivery or an index to appear, in milliseconds. */
  readonly patienceMs: number;
}

/** Tools of a check. */
export interface Context {
  readonly options: SmokeOptions;
  readonly session: Session;
  readonly story: Story;
  /** Address of the dashboard without a slash at the end; undefined without `--dashboard-url`. */
  readonly dashboard: string | undefined;
  /** Whether the service runs on this machine. */
  readonly isLocal: boolean;
}

/**
 * Something that only a running deployment shows. `run` throws a Finding for a fault of the service, and an Unseen if
 * nothing can be said; what it returns is printed in addition to its title.
 */
export interface Check {
  readonly name: string;
  readonly title: string;
  /** Waits a minute or more, at the same time as the other checks. */
  readonly slow?: true;
  /** Needs the address of the dashboard. */
  readonly dashboard?: true;
  /** Needs endpoints that only the sandbox has. */
  readonly sandbox?: true;
  readonly run: (context: Context) => Promise<string | undefined>;
}
