import { beforeAll, expect, test } from "vitest";
import type { NamedTemplate } from "../../../infra/checks/assembly.ts";
import { checkTemplates } from "../../../infra/checks/index.ts";
import { routes } from "../../../shared/routes/index.ts";
import { keptStage, type SynthesizedStage } from "../assembly.ts";
import { type Found, find, plantable, withText } from "./planted.ts";

let stage: SynthesizedStage;

beforeAll(async () => {
  stage = await keptStage({ stage: "production", config: { leadingKeys: true } });
});

const check = (templates: readonly NamedTemplate[]) =>
  checkTemplates(templates, { stage: "production", routes, leadingKeys: true });

type Templates = readonly NamedTemplate[];

const v2 = (type: string) => `AWS::ApiGatewayV2::${type}`;
const route = (templates: Templates, key: string) => find(templates, v2("Route"), withText(key));
const worker = (templates: Templates) =>
  find(templates, "AWS::Lambda::Function", withText("production-stream-deliver"));
const workerRole = (templates: Templates) => find(templates, "AWS::IAM::Role", withText('["StreamDeliverRole'));
const mapping = (templates: Templates) =>
  find(templates, "AWS::Lambda::EventSourceMapping", withText("StreamDeliverFrom"));
const queue = (templates: Templates) => find(templates, "AWS::SQS::Queue", withText("production-stream.fifo"));

/** Writes another text into a resource, and fails when it does not have the one before. */
function rewrite({ properties }: Found, before: string, after: string): void {
  const text = JSON.stringify(properties);
  const changed = text.replace(before, after);
  if (changed === text) throw new Error(`The resource has no ${before}.`);
  Object.assign(properties, JSON.parse(changed));
}

function remove({ template, logicalId }: Found): void {
  delete (template.Resources as Record<string, unknown>)[logicalId];
}

/** A name of its own for the stream, as a stage with one has it. */
function addDomain(templates: Templates, configuration: object, name = "stream.example.com"): void {
  const { template, properties } = find(templates, v2("Stage"));
  const certificate = { CertificateArn: "arn:aws:acm:eu-west-1:123456789012:certificate/one" };
  const domain = { DomainName: name, DomainNameConfigurations: [{ ...certificate, ...configuration }] };
  const place = { ApiId: properties["ApiId"], DomainName: { Ref: "Domain" }, Stage: { Ref: "Stage" } };
  Object.assign(template.Resources, {
    Domain: { Type: v2("DomainName"), Properties: domain },
    DomainPath: { Type: v2("ApiMapping"), Properties: place },
  });
}

const good = { EndpointType: "REGIONAL", SecurityPolicy: "TLS_1_2" };

test("a name of its own for the stream, regional and with TLS 1.2, has no finding", () => {
  const templates = plantable(stage.templates);
  addDomain(templates, good);
  expect(check(templates)).toEqual([]);
});

/** Each plants one defect into a resource, or returns the id of the one that has to be named. */
const defects: readonly (readonly [string, string, (templates: Templates) => Found | string])[] = [
  [
    "a handshake without an authorizer",
    "socket-route",
    (templates) => {
      const found = route(templates, "$connect");
      found.properties["AuthorizationType"] = "NONE";
      return found;
    },
  ],
  [
    "an authorizer on messages",
    "socket-route",
    (templates) => {
      const { properties } = route(templates, "$connect");
      const found = route(templates, "$default");
      Object.assign(found.properties, { AuthorizationType: "CUSTOM", AuthorizerId: properties["AuthorizerId"] });
      return found;
    },
  ],
  [
    "a route without its integration",
    "socket-route",
    (templates) => {
      remove(find(templates, v2("Integration"), withText("disconnect")));
      return route(templates, "$disconnect");
    },
  ],
  [
    "an API without a route for messages",
    "socket-route",
    (templates) => {
      remove(route(templates, "$default"));
      return find(templates, v2("Api"));
    },
  ],
  [
    "an authorizer that asks for a header of all",
    "socket-authorizer",
    (templates) => {
      const found = find(templates, v2("Authorizer"));
      found.properties["IdentitySource"] = ["route.request.header.Authorization"];
      return found;
    },
  ],
  [
    "a cache of the authorizer, which only an HTTP API has",
    "socket-authorizer",
    (templates) => {
      const found = find(templates, v2("Authorizer"));
      found.properties["AuthorizerResultTtlInSeconds"] = 0;
      return found;
    },
  ],
  [
    "an integration by the ARN of its function alone",
    "socket-integration",
    (templates) => {
      const found = find(templates, v2("Integration"));
      rewrite(found, "/invocations", "");
      return found;
    },
  ],
  [
    "events in the form of HTTP APIs",
    "socket-integration",
    (templates) => {
      const found = find(templates, v2("Integration"));
      found.properties["PayloadFormatVersion"] = "2.0";
      return found;
    },
  ],
  [
    "an integration with the role of a function",
    "socket-integration",
    (templates) => {
      const invoker = find(templates, "AWS::IAM::Role", withText("apigateway.amazonaws.com"));
      rewrite(invoker, "apigateway.amazonaws.com", "lambda.amazonaws.com");
      return find(templates, v2("Integration"));
    },
  ],
  [
    "a function that outlives its integration",
    "socket-integration",
    (templates) => {
      find(templates, "AWS::Lambda::Function", withText("production-stream-connect")).properties["Timeout"] = 30;
      return find(templates, v2("Integration"), withText('["connect'));
    },
  ],
  [
    "a stage that comes before a route",
    "socket-stage",
    (templates) => {
      const found = find(templates, v2("Stage"));
      found.resource["DependsOn"] = (found.resource["DependsOn"] as string[]).slice(1);
      return found;
    },
  ],
  [
    "a stage that nothing is deployed to",
    "socket-stage",
    (templates) => {
      const found = find(templates, v2("Stage"));
      delete found.properties["AutoDeploy"];
      return found;
    },
  ],
  [
    "a stage without a limit",
    "socket-stage",
    (templates) => {
      const found = find(templates, v2("Stage"));
      delete found.properties["DefaultRouteSettings"];
      return found;
    },
  ],
  [
    "a stage that logs messages",
    "socket-stage",
    (templates) => {
      const found = find(templates, v2("Stage"));
      rewrite(found, '"DataTraceEnabled":false', '"DataTraceEnabled":true');
      return found;
    },
  ],
  [
    "an access log without the id of the request",
    "socket-stage",
    (templates) => {
      const found = find(templates, v2("Stage"));
      rewrite(found, "$context.requestId", "$context.messageId");
      return found;
    },
  ],
  [
    "a right on the connections of another stage",
    "socket-posts",
    (templates) => {
      rewrite(workerRole(templates), "/v2/POST/@connections", "/v1/POST/@connections");
      return worker(templates);
    },
  ],
  [
    "a worker that may not close a connection",
    "socket-posts",
    (templates) => {
      rewrite(workerRole(templates), "/v2/DELETE/@connections", "/v2/GET/@connections");
      return worker(templates);
    },
  ],
  [
    "a worker with the address of another stage",
    "socket-posts",
    (templates) => {
      const found = worker(templates);
      const { Variables: variables } = found.properties["Environment"] as { Variables: Record<string, unknown> };
      variables["STREAM_ENDPOINT"] = JSON.parse(JSON.stringify(variables["STREAM_ENDPOINT"]).replace("/v2", "/v1"));
      return found;
    },
  ],
  [
    "a name for the whole world",
    "socket-domain",
    (templates) => {
      addDomain(templates, { ...good, EndpointType: "EDGE" });
      return "Domain";
    },
  ],
  [
    "a name with TLS 1.0",
    "socket-domain",
    (templates) => {
      addDomain(templates, { ...good, SecurityPolicy: "TLS_1_0" });
      return "Domain";
    },
  ],
  [
    "a name that the REST API has",
    "socket-domain",
    (templates) => {
      addDomain(templates, good, "api.example.com");
      const { template } = find(templates, "AWS::ApiGateway::RestApi");
      const ofRest = { Type: "AWS::ApiGateway::DomainName", Properties: { DomainName: "api.example.com" } };
      Object.assign(template.Resources, { RestDomain: ofRest });
      return "Domain";
    },
  ],
  [
    "a FIFO queue that Lambda should wait for",
    "refused-mapping",
    (templates) => {
      const found = mapping(templates);
      found.properties["MaximumBatchingWindowInSeconds"] = 0;
      return found;
    },
  ],
  [
    "more messages of a FIFO queue than Lambda takes",
    "refused-mapping",
    (templates) => {
      const found = mapping(templates);
      found.properties["BatchSize"] = 11;
      return found;
    },
  ],
  [
    "a concurrency of one",
    "refused-mapping",
    (templates) => {
      const found = mapping(templates);
      found.properties["ScalingConfig"] = { MaximumConcurrency: 1 };
      return found;
    },
  ],
  [
    "a FIFO queue without its ending",
    "refused-queue",
    (templates) => {
      const found = queue(templates);
      found.properties["QueueName"] = "brokerage-production-stream";
      return found;
    },
  ],
  [
    "dead letters of a FIFO queue in a standard one",
    "refused-queue",
    (templates) => {
      const dead = find(templates, "AWS::SQS::Queue", withText("production-stream-dead"));
      Object.assign(dead.properties, { FifoQueue: undefined, QueueName: "brokerage-production-stream-dead" });
      return queue(templates);
    },
  ],
  [
    "a throughput per group without deduplication per group",
    "refused-queue",
    (templates) => {
      const found = queue(templates);
      found.properties["DeduplicationScope"] = "queue";
      return found;
    },
  ],
];

test.each(defects)("%s is found as %s at its resource", (_, rule, plant) => {
  const templates = plantable(stage.templates);
  const found = plant(templates);
  const logicalId = typeof found === "string" ? found : found.logicalId;
  expect(check(templates)).toContainEqual(expect.objectContaining({ rule, logicalId }));
});
