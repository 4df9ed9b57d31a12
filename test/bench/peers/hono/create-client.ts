import type { APIGatewayProxyEvent } from "aws-lambda";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";
import { createClient } from "../service.ts";

const app = new Hono<{ Bindings: { event: APIGatewayProxyEvent } }>();

app.post("/clients", async (context) => {
  const { status, headers, body } = await createClient(context.env.event, await context.req.json());
  return new Response(body, { status, headers });
});

/** Hono behind its adapter for Lambda: the write. */
export const handler = handle(app);
