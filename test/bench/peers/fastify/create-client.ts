import awsLambdaFastify from "@fastify/aws-lambda";
import fastify from "fastify";
import { createClient } from "../service.ts";

const app = fastify();

app.post("/clients", async (request, reply) => {
  const { status, headers, body } = await createClient(request.awsLambda.event, request.body);
  return reply.code(status).headers(headers).send(body);
});

/** Fastify behind its adapter for Lambda: the write. */
export const handler = awsLambdaFastify(app);
// As the adapter's documentation advises: routes are compiled while the environment starts.
await app.ready();
