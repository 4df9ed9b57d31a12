import type { Route, Stage } from "../../shared/routes/route.ts";
import type { Assembly, Entry } from "./assembly.ts";

/** The stage with which the rules compare the templates. */
export interface CheckOptions {
  readonly stage: Stage;
  readonly routes: readonly Pick<Route, "id" | "method" | "path" | "auth">[];
  /** Whether the stage binds rights to partitions (ADR 0013); every role does, or none. */
  readonly leadingKeys: boolean;
}

/** A defect: which rule, in which template, at which resource. */
export interface Finding {
  readonly rule: string;
  readonly template: string;
  readonly logicalId: string;
  readonly message: string;
}

/** Looks at an assembly and names its defects. */
export type Rule = (assembly: Assembly, options: CheckOptions) => Finding[];

/** A defect at a resource. */
export function finding(rule: string, entry: Entry, message: string): Finding {
  return { rule, template: entry.template, logicalId: entry.logicalId, message };
}
