import { type Reset, resetBody } from "../../shared/domain/sandbox/reset.ts";
import { read } from "../../shared/http/operations.ts";
import { getSandboxReset } from "../../shared/routes/sandbox.ts";
import { resets } from "../../shared/table/entities.ts";
import type { Ref } from "../../shared/table/store.ts";

/** `GET /sandbox/reset`: the last reset, running or completed. */
export const handler = await read(getSandboxReset, async ({ load }) => {
  const { last } = await load({ last: { keyIn: resets.key } as Ref<Reset> });
  return last && resetBody(last);
});
