import type { Operator } from "../../domain/records/operator.ts";
import { type OperatorIdentity, operatorIdentities, operators } from "../../table/entities.ts";
import { findAll, readKeys } from "../../table/store.ts";

/**
 * The operators that a user of the pool is, at most one of each brokerage. One who has got another user since, or is to
 * get one, is not: the credentials of the former user have been reset.
 * @param brokerage the only one that is asked about; all without it
 */
export async function operatorsBehind(identity: string, brokerage?: string): Promise<readonly Operator[]> {
  const [found] = await readKeys([operatorIdentities.key(identity)]);
  const { places = [] } = (found ?? {}) as Partial<OperatorIdentity>;
  const wanted = places.filter(({ place_tenant_id }) => brokerage === undefined || place_tenant_id === brokerage);
  const keys = wanted.map(({ place_tenant_id, operator_id }) => operators.key(place_tenant_id, operator_id));
  const known = await findAll(operators, keys);
  return known.filter(({ identity_sha256 }) => identity_sha256 === identity);
}
