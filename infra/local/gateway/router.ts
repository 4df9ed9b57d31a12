import type { MethodModel } from "./model.ts";

/** One resource of the tree: a path segment, a `{parameter}` or a greedy `{parameter+}`. */
export interface PathNode {
  readonly resource_id: string;
  /** Path from the root, parameters in braces. */
  readonly resource_path: string;
  readonly children: Map<string, PathNode>;
  /** By HTTP method, `ANY` among them. */
  readonly methods: Map<string, MethodModel>;
}

/** Where a request goes. */
export interface Route {
  readonly resource_id: string;
  readonly resource_path: string;
  readonly method: MethodModel;
  /** As the caller sent them: REST APIs hand path parameters on without decoding percent signs. */
  readonly path_parameters: Readonly<Record<string, string>>;
}

/** Methods that `ANY` stands for (AWS docs: set up an API method). */
export const httpMethods = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;

function methodOf(node: PathNode, method: string): MethodModel | undefined {
  const any = httpMethods.some((known) => known === method) ? node.methods.get("ANY") : undefined;
  return node.methods.get(method) ?? any;
}

function parameterName(part: string): { name: string; greedy: boolean } | undefined {
  const match = /^\{([^{}+]+)(\+?)\}$/.exec(part);
  return match?.[1] === undefined ? undefined : { name: match[1], greedy: match[2] === "+" };
}

function search(
  node: PathNode,
  segments: readonly string[],
  method: string,
  parameters: Readonly<Record<string, string>>,
): Route | undefined {
  const [head, ...rest] = segments;
  if (head === undefined) {
    const found = methodOf(node, method);
    const { resource_id, resource_path } = node;
    return found && { resource_id, resource_path, method: found, path_parameters: parameters };
  }
  const fixed = node.children.get(head);
  const bySegment = fixed && search(fixed, rest, method, parameters);
  if (bySegment !== undefined) return bySegment;
  const variables = [...node.children].flatMap(([part, child]) => {
    const parameter = parameterName(part);
    return parameter === undefined ? [] : [{ ...parameter, child }];
  });
  for (const { name, child, greedy } of variables) {
    if (greedy || head === "") continue;
    const found = search(child, rest, method, { ...parameters, [name]: head });
    if (found !== undefined) return found;
  }
  for (const { name, child, greedy } of variables) {
    if (!greedy) continue;
    const found = search(child, [], method, { ...parameters, [name]: segments.join("/") });
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Finds the method for a path without its stage. A fixed segment goes before a parameter, a parameter before a greedy
 * one, and a method of its own before ANY; a branch that has no method for the request gives way to the next one.
 * Slashes at the end do not count.
 */
export function findRoute(root: PathNode, method: string, path: string): Route | undefined {
  const bare = path.replace(/^\/+/, "").replace(/\/+$/, "");
  return search(root, bare === "" ? [] : bare.split("/"), method, {});
}
