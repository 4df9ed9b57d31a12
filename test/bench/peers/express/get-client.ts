import express from "express";
import serverless from "serverless-http";
import { getClient } from "../service.ts";

const app = express();
app.disable("x-powered-by");

app.get("/clients/:id", async (request, response) => {
  const { status, headers, body } = await getClient(request.apiGateway.event, request.params.id);
  response.status(status).set(headers).send(body);
});

/** Express behind serverless-http: the read. */
export const handler = serverless(app);
