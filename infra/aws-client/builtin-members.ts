/**
 * The members of Node's modules that bundles import by name. They are written down since the names of a module differ
 * from one Node to the next, and the minifier chooses short names by every character that it reads: asked of the Node
 * that happens to synthesize, one of 20 and one of 24 made other bundles of the same sources, of which a deployment
 * changed a third. A member that is missing here stops the build with its name.
 */
export const builtinMembers: Readonly<Record<string, readonly string[]>> = {
  async_hooks: ["AsyncLocalStorage"],
  crypto: [
    "createCipheriv",
    "createDecipheriv",
    "createHash",
    "createHmac",
    "createPrivateKey",
    "createPublicKey",
    "createSecretKey",
    "diffieHellman",
    "generateKeyPairSync",
    "getRandomValues",
    "hash",
    "hkdfSync",
    "randomBytes",
    "randomInt",
    "randomUUID",
    "timingSafeEqual",
  ],
  "dns/promises": ["Resolver"],
  events: ["setMaxListeners"],
  "fs/promises": ["readFile"],
  http: ["Agent", "request"],
  https: ["Agent", "request"],
  net: ["BlockList", "isIP"],
  os: ["homedir", "platform", "release"],
  path: ["join", "sep"],
  process: ["env", "versions"],
  stream: ["PassThrough", "Readable", "Writable"],
  "stream/promises": ["pipeline"],
  timers: ["setTimeout"],
  util: ["isDeepStrictEqual"],
  zlib: ["brotliDecompressSync", "deflateRawSync", "gunzipSync", "gzipSync", "inflateRawSync"],
};
