/** The parts of newman that the tests call; it ships no types. */
declare module "newman" {
  interface RunOptions {
    readonly collection: object;
    readonly environment: object;
    /** Between two requests. */
    readonly delayRequest?: number;
  }

  interface Execution {
    readonly item: { readonly name: string };
    readonly response?: {
      readonly code: number;
      readonly headers: { get(name: string): string | undefined };
      text(): string;
    };
  }

  interface Failure {
    readonly source?: { readonly name: string };
    readonly error: { readonly message: string };
  }

  export interface Summary {
    readonly run: { readonly failures: readonly Failure[]; readonly executions: readonly Execution[] };
  }

  const newman: {
    run(options: RunOptions, done: (error: Error | null, summary: Summary) => void): void;
  };
  export default newman;
}
