import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { startApi } from "../../support/emulator/api.ts";
import { startTokenService } from "../../support/stack/token-service.ts";

const api = await startApi();
const service = await startTokenService(api);
afterAll(async () => api.stop());

/** A rotation: with a grace or without; `lost` is one whose answer never came, `repeated` is sent again by its key. */
const rotation = fc.record({ grace: fc.constantFrom(0, 0, 60), fate: fc.constantFrom("seen", "lost", "repeated") });

it("in every order and with lost answers, only the newest secret gets a token once rotated without grace", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(rotation, { minLength: 2, maxLength: 5 }), async (program) => {
      const made = await service.application();
      const { client_id } = made.credentials;
      const seen = [made.credentials.client_secret];
      const accepted = async (client_secret: string) =>
        (await service.grant({ ...made, credentials: { client_id, client_secret } })).status === 200;
      for (const { grace, fate } of program) {
        const headers = { "Idempotency-Key": newId("evt") };
        const parts = { body: { grace_seconds: grace }, headers: fate === "repeated" ? headers : {} };
        const send = () => api.call(made.admin, "POST", `/applications/${made.id}/rotate_secret`, parts);
        const first = await send();
        const answer = fate === "repeated" ? await send() : first;
        expect([answer.status, answer.text]).toEqual([first.status, first.text]);
        if (grace === 0) expect(answer.status).toBe(200);
        if (answer.status !== 200) continue;
        const newest: string = answer.body.client_secret;
        if (fate !== "lost") seen.push(newest);
        if (grace !== 0) continue;
        // No older secret gets in, and who lost the answer rotates again, which works.
        for (const older of seen.filter((secret) => secret !== newest)) expect(await accepted(older)).toBe(false);
        expect(await accepted(newest)).toBe(true);
      }
    }),
    { numRuns: 12 },
  );
});
