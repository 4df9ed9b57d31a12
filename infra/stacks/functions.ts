import { NestedStack } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import type { Route } from "../../shared/routes/route.ts";
import { ServiceFunction } from "../constructs/service-function.ts";
import type { StageConfig } from "../stages.ts";

/** A function to make, whether behind a route or not. */
export interface FunctionProps {
  /** File under `functions/`, without `.ts`; its folder is the nested stack. */
  readonly file: string;
  readonly id: string;
  readonly description: string;
  readonly statements: readonly PolicyStatement[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
  readonly reservedConcurrency?: number;
  readonly endsItself?: boolean;
  /** Whether the gateway invokes it for requests, and so decides about its traces. */
  readonly traced?: boolean;
  /** Nested stack, when not the folder's. */
  readonly nestedStack?: string;
  /** Log group, when not one of its own. */
  readonly logGroup?: ILogGroup;
}

/** Shared by all functions. */
export interface FunctionStacksProps {
  readonly config: StageConfig;
  /** Folder of each file's bundle. */
  readonly bundles: ReadonlyMap<string, string>;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The functions in nested stacks by folder: one stack holds 500 resources, and a function is two or three of them.
 */
export class FunctionStacks {
  private readonly scope: Construct;
  private readonly props: FunctionStacksProps;
  private readonly stacks = new Map<string, NestedStack>();

  constructor(scope: Construct, props: FunctionStacksProps) {
    this.scope = scope;
    this.props = props;
  }

  /** Makes a function in the nested stack of its folder. */
  add(props: FunctionProps): ServiceFunction {
    const { config, bundles, environment } = this.props;
    const directory = bundles.get(props.file);
    if (directory === undefined) throw new Error(`There is no bundle of "${props.file}".`);
    return new ServiceFunction(this.stack(props.nestedStack ?? folderOf(props.file)), constructId(props.id), {
      config,
      id: props.id,
      description: props.description,
      directory,
      statements: props.statements,
      environment: { ...environment, ...props.environment },
      ...(props.timeoutSeconds !== undefined && { timeoutSeconds: props.timeoutSeconds }),
      ...(props.logGroup !== undefined && { logGroup: props.logGroup }),
      ...(props.endsItself && { endsItself: true }),
      ...(props.traced !== undefined && { traced: props.traced }),
      ...(props.reservedConcurrency !== undefined && { reservedConcurrency: props.reservedConcurrency }),
    });
  }

  /** The nested stack of that name, made when it is first asked for. */
  private stack(name: string): NestedStack {
    const known = this.stacks.get(name);
    if (known !== undefined) return known;
    const stack = new NestedStack(this.scope, name, { description: `Functions of ${name}` });
    this.stacks.set(name, stack);
    return stack;
  }
}

function folderOf(file: string): string {
  return file.split("/")[0] ?? file;
}

/** `create_client` becomes `CreateClient`, since logical ids hold letters and digits only. */
function constructId(id: string): string {
  return id
    .split(/[_-]/)
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join("");
}

/** One line about the function of a row. */
export function describeRoute(route: Route): string {
  return `${route.method} ${route.path}: ${route.summary}`;
}
