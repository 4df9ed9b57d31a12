import { reviewBody, writeNote } from "../../shared/domain/accounts/review.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { createReview } from "../../shared/routes/clients.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /clients/{id}/reviews` */
export const handler = await command(
  createReview,
  async ({ path, body, load, context }) => {
    const { client } = await load({ client: ref.client(path.id) });
    return client === undefined ? notFound() : writeNote(client, body, context);
  },
  reviewBody,
);
