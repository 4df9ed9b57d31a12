import type { APIGatewayProxyEvent } from "aws-lambda";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";
import { getClient } from "../service.ts";

const app = new Hono<{ Bindings: { event: APIGatewayProxyEvent } }>();

app.get("/clients/:id", async (context) => {
  const { status, headers, body } = await getClient(context.env.event, context.req.param("id"));
  return new Response(body, { status, headers });
});

/** Hono behind its adapter for Lambda: the read. */
export const handler = handle(app);
