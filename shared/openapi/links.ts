import type { Route } from "../routes/route.ts";
import { Nothing } from "../schema/oauth.ts";
import type { JsonObject } from "./document.ts";
import { componentName, membersOf } from "./schemas.ts";

/** Operation id of a row: `create_client` is `createClient`. */
export function operationIdOf({ id }: Pick<Route, "id">): string {
  return id.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Links from the response of a row (OpenAPI 3.0.3, Link Object): from a resource to the operations under its own path,
 * and from every member `<resource>_id` to the operation that gets that resource. They refer to {@link linkComponents}.
 */
export function linksOf(row: Route, rows: readonly Route[]): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(ownLinksOf(row, rows)).map(([name, link]) => [
      name,
      { $ref: `#/components/links/${componentOf(name, link)}` },
    ]),
  );
}

/** The links of all responses, each declared once: to `getClient` by the `id` of a response, or by its `client_id`. */
export function linkComponents(rows: readonly Route[]): Record<string, JsonObject> {
  const links = rows.filter(({ reply }) => reply !== Nothing).flatMap((row) => Object.entries(ownLinksOf(row, rows)));
  return Object.fromEntries(links.map(([name, link]) => [componentOf(name, link), link]));
}

/** `getClient_client_id` gets the client that the member `client_id` names. */
function componentOf(name: string, { parameters }: JsonObject): string {
  const [expression = ""] = Object.values(parameters as Record<string, string>);
  return `${name}_${expression.slice(expression.indexOf("/") + 1)}`;
}

function ownLinksOf(row: Route, rows: readonly Route[]): Record<string, JsonObject> {
  const members = Object.keys(membersOf(row.reply));
  const links: Record<string, JsonObject> = {};
  for (const target of members.includes("id") ? ownOperations(row, rows) : []) {
    links[operationIdOf(target)] = linkTo(target, "$response.body#/id");
  }
  for (const member of members) {
    const target = rows.find(({ id }) => id === `get_${member.slice(0, -"_id".length)}`);
    if (!member.endsWith("_id") || target === undefined || target === row) continue;
    links[operationIdOf(target)] ??= linkTo(target, `$response.body#/${member}`);
  }
  return links;
}

/** Operations on the resource that the row returns: those on its own path, and the lists under that path. */
function ownOperations(row: Route, rows: readonly Route[]): Route[] {
  const name = componentName(row.reply, row.id);
  const home = rows.find(
    ({ method, path, reply }) => method === "GET" && /^\/\w+\/\{\w+\}$/.test(path) && nameOf(reply) === name,
  );
  if (home === undefined) return [];
  return rows.filter((one) => one !== row && (one.path === home.path || one.path.startsWith(`${home.path}/`)));

  function nameOf(reply: Route["reply"]): string {
    return componentName(reply, row.id);
  }
}

function linkTo(target: Route, expression: string): JsonObject {
  const parameter = /\{(\w+)\}/.exec(target.path)?.[1] ?? "id";
  return {
    operationId: operationIdOf(target),
    parameters: { [parameter]: expression },
    description: `${target.summary}.`,
  };
}
