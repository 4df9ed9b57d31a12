import { closingMessage } from "../domain/stream/replies.ts";
import { nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { streamConnections, streamHolders } from "../table/entities.ts";
import { findAll, readAll } from "../table/store.ts";
import { closeConnection, postTo } from "./connections.ts";
import { StreamMeter } from "./meter.ts";
import { dutiesOf } from "./upkeep.ts";

/**
 * Closes the connections of an application or operator whose access has ended, which the sweep would do within a
 * minute: it does what fails here. API Gateway reports each as disconnected, and what is kept of it goes with that.
 */
export async function endStreams({ tenant_id, id }: Readonly<Record<"tenant_id" | "id", string>>): Promise<void> {
  const began = nowMs();
  try {
    const [holder] = await readAll(streamHolders, [streamHolders.key(tenant_id, id)]);
    const keys = Object.keys(holder?.connections ?? {}).map((each) => streamConnections.key(tenant_id, each));
    if (keys.length === 0) return;
    const connections = await findAll(streamConnections, keys);
    const duties = await dutiesOf(connections);
    // These messages are not counted as messages of the stream.
    const meter = new StreamMeter(tenant_id);
    await Promise.all(
      connections.map(async ({ connection_id }, at) => {
        const { ends } = duties[at] ?? {};
        if (ends !== "access_ended") return;
        await postTo({ connection_id, holder_id: id, meter }, JSON.stringify(closingMessage(ends)));
        await closeConnection(connection_id);
      }),
    );
    log.info("Streams of an ended access were closed.", { tenant_id, holder_id: id, duration_ms: nowMs() - began });
  } catch (error) {
    log.warn("Streams of an ended access are left to the sweep.", { tenant_id, holder_id: id, ...causeOf(error) });
  }
}
