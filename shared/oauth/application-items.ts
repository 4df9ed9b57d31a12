import type { Application } from "../domain/application.ts";
import { applications } from "../table/entities.ts";
import { transactOnce } from "../table/transact.ts";
import { updateItem } from "../table/write.ts";

/**
 * Writes what the gateway made of an application, without raising the version: the entity tag covers what a caller
 * sees. Returns false when the application has changed since `before` was read.
 */
export async function writeSettled(before: Application, after: Application): Promise<boolean> {
  return (await transactOnce([updateItem(applications, before, after)])).ok;
}
