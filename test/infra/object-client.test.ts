import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HttpHandler, type HttpRequest } from "../../infra/aws-client/http-handler.ts";
import { GetObjectCommand, S3Client } from "../../infra/aws-client/object-client.ts";
import { type BucketEndpoint, startBucketEndpoint } from "../support/emulator/bucket-endpoint.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "../support/emulator/fault-proxy.ts";
import { isSignedBy } from "../support/stack/request-signature.ts";
import { bothClients } from "./clients/both-clients.ts";
import type * as Clients from "./fixtures/clients.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
const slow: Fault = { status: 503, body: "<Error><Code>SlowDown</Code><Message>Please reduce.</Message></Error>" };
const content = Uint8Array.from({ length: 4096 }, (_, at) => at % 251);

describe("the client of S3 of the functions does what the published one does", () => {
  let bucket: BucketEndpoint;
  let proxy: FaultProxy;
  let sdks: readonly (typeof Clients)[];

  beforeAll(async () => {
    bucket = await startBucketEndpoint();
    proxy = await startFaultProxy(String(bucket.environment["AWS_ENDPOINT_URL_S3"]));
    const { published, slim } = await bothClients("object-client");
    sdks = [published, slim];
  });
  afterAll(async () => {
    await proxy.stop();
    await bucket.stop();
  });

  /** Results of each of both for the same calls: names and states of errors, and contents. */
  async function outcomes(
    run: (sdk: typeof Clients, client: InstanceType<typeof Clients.S3Client>, key: string) => Promise<unknown>,
    faults: readonly Fault[] = [],
  ): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const [at, sdk] of sdks.entries()) {
      const client = new sdk.S3Client({ endpoint: proxy.endpoint, region: "eu-west-1", credentials, maxAttempts: 3 });
      proxy.begin(faults);
      const key = `brk_1/day/${expect.getState().currentTestName?.length}-${at}.gz`;
      found.push(
        await run(sdk, client, key).catch((error: Error & { $metadata?: object }) => {
          const { httpStatusCode, attempts } = Object(error.$metadata);
          return { name: error.name, message: error.message, httpStatusCode, attempts };
        }),
      );
      const unsigned = proxy.seen().filter((request) => !isSignedBy(credentials.secretAccessKey, request));
      expect(at === 0 ? [] : unsigned).toEqual([]);
      client.destroy();
    }
    expect(found[1]).toEqual(found[0]);
    return found;
  }

  const putOf = (sdk: typeof Clients, Key: string, Body: Uint8Array = content) =>
    new sdk.PutObjectCommand({ Bucket: bucket.bucket, Key, Body, ContentType: "application/gzip", IfNoneMatch: "*" });

  async function put(sdk: typeof Clients, client: InstanceType<typeof Clients.S3Client>, key: string) {
    await client.send(putOf(sdk, key));
    const { Body: body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket.bucket, Key: key }));
    return Buffer.from((await body?.transformToByteArray()) ?? []).equals(content);
  }

  it("puts and reads an object", async () => {
    expect(await outcomes(put)).toEqual([true, true]);
  });

  it("puts an object that is empty", async () => {
    const empty = async (sdk: typeof Clients, client: InstanceType<typeof Clients.S3Client>, key: string) => {
      await client.send(putOf(sdk, key, new Uint8Array()));
      const { Body: body } = await client.send(new sdk.GetObjectCommand({ Bucket: bucket.bucket, Key: key }));
      return (await body?.transformToByteArray())?.length;
    };
    expect(await outcomes(empty)).toEqual([0, 0]);
  });

  it("learns that an object is there already", async () => {
    const twice = async (sdk: typeof Clients, client: InstanceType<typeof Clients.S3Client>, key: string) => {
      await put(sdk, client, key);
      return client.send(putOf(sdk, key));
    };
    expect(await outcomes(twice)).toMatchObject([{ name: "PreconditionFailed", httpStatusCode: 412 }, {}]);
  });

  it("learns that an object is not there", async () => {
    const missing = (sdk: typeof Clients, client: InstanceType<typeof Clients.S3Client>, key: string) =>
      client.send(new sdk.GetObjectCommand({ Bucket: bucket.bucket, Key: key }));
    expect(await outcomes(missing)).toMatchObject([{ name: "NoSuchKey", httpStatusCode: 404 }, {}]);
  });

  it("tries again where S3 is asked too much, as often as it may", async () => {
    expect(await outcomes(put, [slow, slow])).toEqual([true, true]);
    expect(await outcomes(put, [slow, slow, slow])).toMatchObject([{ name: "SlowDown", attempts: 3 }, {}]);
  });

  it("refuses what it does not carry", async () => {
    const [, slim] = sdks as [typeof Clients, typeof Clients];
    const client = new slim.S3Client({ endpoint: proxy.endpoint, region: "eu-west-1", credentials });
    const more = { Bucket: bucket.bucket, Key: "a", Body: content, Tagging: "a=b" };
    await expect(client.send(new slim.PutObjectCommand(more))).rejects.toThrow("Tagging of PutObject is not in this");
    const strange = new slim.GetObjectCommand({ Bucket: bucket.bucket, Key: "a b" });
    await expect(client.send(strange)).rejects.toThrow("The key a b is not in this bundle.");
    client.destroy();
  });
});

/** A handler that notes where a request goes and sends none. */
class NotingHandler extends HttpHandler {
  readonly seen: HttpRequest[] = [];

  override async handle(request: HttpRequest): Promise<never> {
    this.seen.push(request);
    throw new Error("noted");
  }
}

it("asks the host of the bucket over TLS, or the one address that is configured", async () => {
  const handler = new NotingHandler({});
  const get = (settings: object) =>
    new S3Client({ region: "eu-west-1", credentials, requestHandler: handler, ...settings })
      .send(new GetObjectCommand({ Bucket: "days", Key: "a/b.gz" }))
      .catch(() => undefined);
  const configured = process.env["AWS_ENDPOINT_URL"];
  delete process.env["AWS_ENDPOINT_URL"];
  await get({});
  await get({ endpoint: "http://127.0.0.1:9" });
  if (configured !== undefined) process.env["AWS_ENDPOINT_URL"] = configured;
  expect(handler.seen.map(({ protocol, hostname, path }) => `${protocol}//${hostname}${path}`)).toEqual([
    "https://days.s3.eu-west-1.amazonaws.com/a/b.gz",
    "http://127.0.0.1/days/a/b.gz",
  ]);
});
