import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Accepts one finding of the validation packs on a construct and below, and says why it does not apply. */
export function acknowledge(scope: IConstruct, id: string, reason: string): void {
  Validations.of(scope).acknowledge({ id, reason });
}
