import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { Application } from "../domain/application.ts";
import { applications } from "../table/entities.ts";
import { table } from "../table/table.ts";
import { updateItem } from "../table/write.ts";

/**
 * Writes what the gateway made of an application, without raising the version: the entity tag covers what a caller
 * sees. Returns false when the application has changed since `before` was read.
 */
export async function writeSettled(before: Application, after: Application): Promise<boolean> {
  try {
    await table.send(new TransactWriteCommand({ TransactItems: [updateItem(applications, before, after)] }));
    return true;
  } catch (error) {
    if ((error as Error).name !== "TransactionCanceledException") throw error;
    return false;
  }
}
