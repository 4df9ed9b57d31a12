import { CfnResource } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/**
 * Bounds how many resources of a type in a scope CloudFormation creates, or deletes, at the same time: each waits for
 * the one that was declared `atOnce` before it. Without it CloudFormation begins all resources at once whose
 * dependencies are complete, and the rate limit of a service's own API fails the creation.
 */
export function limitParallelCreation(scope: IConstruct, type: string, atOnce: number): void {
  const resources = scope.node
    .findAll()
    .filter((each): each is CfnResource => CfnResource.isCfnResource(each) && each.cfnResourceType === type);
  for (const [n, resource] of resources.slice(atOnce).entries()) {
    const earlier = resources[n];
    if (earlier !== undefined) resource.addResourceDependency(earlier);
  }
}
