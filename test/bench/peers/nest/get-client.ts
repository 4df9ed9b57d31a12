import "reflect-metadata";
import { Controller, Get, Module, Param, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import serverless from "serverless-http";
import { getClient } from "../service.ts";

@Controller()
class ClientsController {
  @Get("clients/:id")
  async get(@Req() request: Request, @Param("id") id: string, @Res() response: Response) {
    const { status, headers, body } = await getClient(request.apiGateway.event, id);
    response.status(status).set(headers).send(body);
  }
}

@Module({ controllers: [ClientsController] })
class ClientsModule {}

const app = await NestFactory.create(ClientsModule, { logger: false });
await app.init();

/** NestJS on Express behind serverless-http: the read. */
export const handler = serverless(app.getHttpAdapter().getInstance());
