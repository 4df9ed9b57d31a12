/** The addresses that a deployment writes next to the application. */
export interface Config {
  /** Issuer of the operators' user pool. */
  readonly issuer: string;
  readonly client_id: string;
  /** Page of the pool that ends its session. */
  readonly logout_url: string;
  /** Address of the API for programs, with its version. */
  readonly api_url: string;
}

let loaded: Config | undefined;

/** Reads the addresses, once. Throws where the application was not deployed completely, or is not reachable. */
export async function loadConfig(): Promise<Config> {
  if (loaded !== undefined) return loaded;
  const response = await fetch("/config.json");
  if (!response.ok) throw new Error(`config.json is not available: ${response.status}`);
  loaded = (await response.json()) as Config;
  return loaded;
}

/** The addresses, once they are loaded. */
export function config(): Config {
  if (loaded === undefined) throw new Error("The addresses are not loaded yet.");
  return loaded;
}
