import "reflect-metadata";
import { Body, Controller, Module, Post, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import serverless from "serverless-http";
import { createClient } from "../service.ts";

@Controller()
class ClientsController {
  @Post("clients")
  async create(@Req() request: Request, @Body() given: unknown, @Res() response: Response) {
    const { status, headers, body } = await createClient(request.apiGateway.event, given);
    response.status(status).set(headers).send(body);
  }
}

@Module({ controllers: [ClientsController] })
class ClientsModule {}

const app = await NestFactory.create(ClientsModule, { logger: false });
await app.init();

/** NestJS on Express behind serverless-http: the write. */
export const handler = serverless(app.getHttpAdapter().getInstance());
