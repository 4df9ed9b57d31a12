type Pair = readonly [name: string, version?: string];

interface UserAgentConfig {
  readonly defaultUserAgentProvider: () => Promise<readonly Pair[]>;
}

interface Call {
  readonly request: { readonly headers: Record<string, string> };
}

interface Stack {
  readonly add: (middleware: unknown, options: object) => void;
}

/** Where the middleware stands. */
export const getUserAgentMiddlewareOptions = {
  name: "getUserAgentMiddleware",
  step: "build",
  priority: "low",
  tags: ["SET_USER_AGENT", "USER_AGENT"],
  override: true,
};

/**
 * Takes the place of the SDK's user agent, which also tells AWS in a list of letters what features a client used. Only
 * what the client, its language and its machine are is told; both headers are signed with the others.
 */
export const userAgentMiddleware =
  (config: UserAgentConfig) =>
  <T>(next: (call: Call) => Promise<T>) =>
  async (call: Call): Promise<T> => {
    const pairs = await config.defaultUserAgentProvider();
    const words = pairs.map(([name, version]) =>
      [name, version].filter(Boolean).map(token).join("#").replace("#", "/"),
    );
    const { headers } = call.request;
    headers["user-agent"] = words.join(" ");
    headers["x-amz-user-agent"] = words.filter((word) => word.startsWith("aws-sdk-")).join(" ");
    return next(call);
  };

/** Letters that a product of a user agent may not have become hyphens (RFC 9110 10.1.5). */
function token(word: string | undefined): string {
  return (word ?? "").replace(/[^!$%&'*+\-./^_`|~\d\w#]/g, "-");
}

/** Puts the middleware into a client's stack. */
export const getUserAgentPlugin = (config: UserAgentConfig) => ({
  applyToStack: (stack: Stack) => stack.add(userAgentMiddleware(config), getUserAgentMiddlewareOptions),
});
