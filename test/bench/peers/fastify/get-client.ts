import awsLambdaFastify from "@fastify/aws-lambda";
import fastify from "fastify";
import { getClient } from "../service.ts";

const app = fastify();

app.get<{ Params: { id: string } }>("/clients/:id", async (request, reply) => {
  const { status, headers, body } = await getClient(request.awsLambda.event, request.params.id);
  return reply.code(status).headers(headers).send(body);
});

/** Fastify behind its adapter for Lambda: the read. */
export const handler = awsLambdaFastify(app);
// As the adapter's documentation advises: routes are compiled while the environment starts.
await app.ready();
