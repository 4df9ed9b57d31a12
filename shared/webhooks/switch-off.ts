import type { SwitchOff, WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { inForce } from "../domain/webhooks/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { isDue, rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { webhookHealths, webhooks } from "../table/entities.ts";
import { type ItemChange, isStill } from "../table/expression.ts";
import { changeVersion } from "../table/items.ts";
import { readKeys } from "../table/store.ts";
import { wakeResting } from "./delivery-sweep.ts";
import { updateHealth } from "./endpoint-health.ts";

/**
 * Notes in the health of an endpoint that it is to be off, which counts from then on (see {@link inForce}), and lets
 * the sweep look for it. One that is off already, was switched on again, or goes to another address by now is left
 * alone. Returns whether this call noted it.
 */
export async function noteOff(judged: WebhookEndpoint, reason: string): Promise<boolean> {
  for (let tried = 0; tried < limits.commit.conflict_tries; tried += 1) {
    const { endpoint, health } = await readBoth(judged.tenant_id, judged.id);
    if (endpoint === undefined || health === undefined) return false;
    const { status, url, epoch } = inForce(endpoint, health);
    if (status !== "enabled" || url !== judged.url || epoch !== judged.epoch) return false;
    if ((await updateHealth(health, noting(health, { epoch, url, reason, at: nowIso() }))).ok) return true;
  }
  throw new Error("An endpoint is too contended to be switched off.");
}

interface Both {
  readonly endpoint: WebhookEndpoint | undefined;
  readonly health: WebhookHealth | undefined;
}

async function readBoth(tenant: string, id: string): Promise<Both> {
  const [endpoint, health] = await readKeys([webhooks.key(tenant, id), webhookHealths.key(tenant, id)]);
  return { endpoint, health } as Both;
}

/** A note is compared as a whole: of two that come at once one is written, and none of another moment is taken away. */
function noting(health: WebhookHealth, off: SwitchOff | null): ItemChange {
  const set = { off, wake_at: off?.at ?? null };
  return rescheduled(webhookHealths, health, { set, when: isStill({ off: health.off }) });
}

/**
 * Deals with what the deliverer noted in the health of endpoints, and takes the notes away: switches off those that are
 * to be off, and wakes what rests of those that were closed and accepted something since. Done twice, or by two sweeps
 * at once, it comes to the same. Returns how many notes were dealt with, and how many could not be.
 */
export function switchOffNoted(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("HEALTH", hasTime, {
    entity: webhookHealths,
    isDue,
    run: async (health) => {
      const { tenant_id, endpoint_id } = health;
      await (health.off === null && health.reopened_at ? reopen(health, hasTime) : switchOff(tenant_id, endpoint_id));
      return 1;
    },
    report: ({ endpoint_id }, error) =>
      log.error("The health of an endpoint could not be processed.", { endpoint_id, ...causeOf(error) }),
  });
}

/**
 * Takes the note away when nothing rests any more; one that came meanwhile stays. Deliveries left asleep are looked for
 * when the messages before them are through: two sweeps that send concurrently would be twice the endpoint's pace.
 */
async function reopen(health: WebhookHealth, hasTime: () => boolean): Promise<void> {
  const { tenant_id, endpoint_id, reopened_at } = health;
  const { whole, seconds } = await wakeResting(tenant_id, endpoint_id, hasTime);
  const later = new Date(nowMs() + delayMs(seconds)).toISOString();
  const set = whole ? { reopened_at: null, wake_at: null } : { wake_at: later };
  const when = isStill({ reopened_at, off: null });
  await updateHealth(health, rescheduled(webhookHealths, health, { set, when }));
}

async function writeOff(stored: WebhookEndpoint, standing: WebhookEndpoint): Promise<boolean> {
  return stored === standing || (await changeVersion(webhooks, stored, standing, "again"));
}

/** Writes the endpoint first: until it is off by itself, the note must count. */
async function switchOff(tenant: string, id: string): Promise<void> {
  for (let tried = 0; tried < limits.commit.conflict_tries; tried += 1) {
    const { endpoint, health } = await readBoth(tenant, id);
    if (health === undefined) return;
    const written = endpoint === undefined || (await writeOff(endpoint, inForce(endpoint, health)));
    if (written && (await updateHealth(health, noting(health, null))).ok) return;
  }
  throw new Error("An endpoint is too contended to be switched off.");
}
