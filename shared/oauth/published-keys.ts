import { readable } from "../runtime/unreadable.ts";
import { type PublicKey, publicKeys } from "../table/entities.ts";
import { changeItem, putItem } from "../table/items.ts";
import { readPartition } from "../table/partition.ts";
import { tryRead } from "../table/table.ts";

/** Every published key, expired ones that DynamoDB has not deleted yet included; strongly consistent. */
export async function publishedKeys(): Promise<readonly PublicKey[]> {
  return readable((await readPartition(publicKeys.partition)).map((item) => tryRead<PublicKey>(item)));
}

/** Publishes a key, or publishes it again as it is now. */
export async function publishKey(key: PublicKey): Promise<void> {
  await putItem(publicKeys, key);
}

/** Lets a published key expire at this time, in seconds since 1970. */
export async function expireKey(kid: string, expires_at: number): Promise<void> {
  await changeItem(publicKeys.key(kid), { set: { expires_at } });
}
