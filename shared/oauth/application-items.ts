import type { Application } from "../domain/records/application.ts";
import type { OperatorKey } from "../domain/records/operator.ts";
import { applications, operatorKeys } from "../table/entities.ts";
import { transactOnce } from "../table/transact.ts";
import { updateItem } from "../table/write.ts";

/**
 * Writes what the gateway made of an application, without raising the version: the entity tag covers what a caller
 * sees. Returns false when the application has changed since `before` was read.
 */
export async function writeSettled(before: Application, after: Application): Promise<boolean> {
  return (await transactOnce([updateItem(applications, before, after)])).ok;
}

/** Writes what the gateway made of the API key of operators. Returns false when another run was faster. */
export async function writeSettledKey(before: OperatorKey, after: OperatorKey): Promise<boolean> {
  return (await transactOnce([updateItem(operatorKeys, before, after)])).ok;
}
