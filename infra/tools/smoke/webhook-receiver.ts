import { startReceiver } from "../receiver/receiver.ts";

/** A webhook that arrived. */
export interface Arrival {
  readonly type: string;
  /** `good`, or what is wrong with the signatures. */
  readonly signature: string;
}

/** A receiver on this machine. */
export interface WebhookReceiver {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** Names the secret that signatures have to be made with. */
  expectSecret(secret: string): void;
  stop(): Promise<void>;
}

/** Starts a receiver on a free port of the loopback. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const arrivals: Arrival[] = [];
  const secrets: string[] = [];
  const seen = (body: string, signature: string) => {
    const { type } = JSON.parse(body) as { type: string };
    arrivals.push({ type, signature });
  };
  const quiet = { status: 200, failFirst: 0, delayMs: 0, print: () => undefined };
  const { url, stop } = await startReceiver({ port: 0, secrets, seen, ...quiet });
  return { url, arrivals, expectSecret: (secret) => void secrets.push(secret), stop };
}
