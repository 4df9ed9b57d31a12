import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { applications } from "../../shared/data/entities.ts";
import { readRawItem } from "../../shared/data/table.ts";
import type { Application } from "../../shared/domain/application.ts";
import { provisionApplication } from "../../shared/oauth/provision.ts";
import { reconcileApplications, settleApplications } from "../../shared/oauth/settle.ts";
import { ProvisionRequest } from "../../shared/schema/provision.ts";

/**
 * Makes and removes API keys: for applications that the stream of the table shows as waiting, on a schedule for those
 * that it did not bring, and for the operator's command, which makes an application. No route leads here.
 */
export async function handler(event: DynamoDBStreamEvent | object): Promise<unknown> {
  if ("Records" in event) return settleRecords(event);
  const request = ProvisionRequest.parse(event);
  return request.action === "create_application" ? provisionApplication(request) : reconcileApplications();
}

async function settleRecords({ Records: records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const waiting = records.flatMap(({ dynamodb }) =>
    dynamodb?.NewImage === undefined
      ? []
      : [
          {
            number: dynamodb.SequenceNumber ?? "",
            key: applications.keyOf(readRawItem<Application>(dynamodb.NewImage)),
          },
        ],
  );
  const failed = await settleApplications(waiting.map(({ key }) => key));
  return {
    batchItemFailures: waiting
      .filter(({ key }) => failed.includes(key))
      .map(({ number }) => ({ itemIdentifier: number })),
  };
}
