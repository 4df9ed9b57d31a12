import express from "express";
import serverless from "serverless-http";
import { createClient } from "../service.ts";

const app = express();
app.disable("x-powered-by");
app.use(express.json());

app.post("/clients", async (request, response) => {
  const { status, headers, body } = await createClient(request.apiGateway.event, request.body);
  response.status(status).set(headers).send(body);
});

/** Express behind serverless-http: the write. */
export const handler = serverless(app);
