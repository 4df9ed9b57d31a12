import { unchanged } from "../../shared/domain/kernel/decision.ts";
import { beginReset, type Reset, resetBody } from "../../shared/domain/sandbox/reset.ts";
import { command } from "../../shared/http/operations.ts";
import { limits } from "../../shared/limits.ts";
import { resetSandbox } from "../../shared/routes/sandbox.ts";
import { resets } from "../../shared/table/entities.ts";
import type { Ref } from "../../shared/table/store.ts";
import { putNew, updateItem } from "../../shared/table/write.ts";

/** `POST /sandbox/reset`: returns the running reset, if there is one. */
export const handler = await command(
  resetSandbox,
  async ({ load, context }) => {
    const { last } = await load({ last: { keyIn: resets.key } as Ref<Reset> });
    if (last?.status === "running") return unchanged(last);
    const reset = beginReset(last, limits.sandbox.reset_settles_seconds, context);
    const item = last === undefined ? putNew(resets, reset) : updateItem(resets, last, reset);
    return { ok: true, result: reset, changes: [{ op: "prepared", item }], events: [] };
  },
  resetBody,
);
