import { notFound } from "../../shared/domain/kernel/decision.ts";
import { planReplay, refuseRange, replayBody } from "../../shared/domain/webhooks/replay.ts";
import { inForce, isThere } from "../../shared/domain/webhooks/webhook.ts";
import { command } from "../../shared/http/operations.ts";
import { limits } from "../../shared/limits.ts";
import { replayEvents } from "../../shared/routes/webhooks.ts";
import { delayMs } from "../../shared/runtime/clock.ts";
import { ref } from "../../shared/table/store.ts";
import { eventsToReplay, runReplay } from "../../shared/webhooks/replay.ts";

/** `POST /webhook_endpoints/{id}/replay`: the sweep sends the events for which there is no time. */
export const handler = await command(
  replayEvents,
  async ({ path, body, load, context }) => {
    const { id } = path;
    const { endpoint, health } = await load({ endpoint: ref.webhook(id), health: ref.webhookHealth(id) });
    if (!isThere(endpoint)) return notFound();
    const refusal = refuseRange(body);
    if (refusal !== undefined) return refusal;
    const { sequences, next } = await eventsToReplay(endpoint, body);
    return planReplay(inForce(endpoint, health), sequences, next, delayMs, context);
  },
  replayBody,
  {
    afterCommit: async ({ replay }, remainingMs) => {
      if (replay !== undefined) await runReplay(replay, () => remainingMs() > limits.webhooks.replay_reserve_ms);
    },
  },
);
