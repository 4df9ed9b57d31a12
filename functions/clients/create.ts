import { clientBody, openClient } from "../../shared/domain/accounts/client.ts";
import { command } from "../../shared/http/operations.ts";
import { createClient } from "../../shared/routes/clients.ts";
import { drawPersonKey } from "../../shared/runtime/person-key.ts";

/** `POST /clients` */
export const handler = await command(
  createClient,
  async ({ body, context }) => openClient(body, drawPersonKey(), context),
  clientBody,
);
