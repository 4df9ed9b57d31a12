import { type Assembly, type Entry, groupBy, type Json, listOf, objectOf, ofType, resourceOf } from "./assembly.ts";
import { finding, type Rule } from "./rule.ts";

/** Path of a REST resource: its own part behind that of its parent. */
function pathOf(assembly: Assembly, resourceId: Json, template: string): string {
  const resource = resourceOf(assembly, "AWS::ApiGateway::Resource", resourceId, template);
  if (resource === undefined) return "";
  const parent = pathOf(assembly, resource.properties["ParentId"], resource.template);
  return `${parent}/${String(resource.properties["PathPart"])}`;
}

interface ApiMethod {
  readonly entry: Entry;
  readonly method: string;
  readonly path: string;
  readonly mock: boolean;
}

function methodsOf(assembly: Assembly): ApiMethod[] {
  return ofType(assembly, "AWS::ApiGateway::Method").map((entry) => ({
    entry,
    method: String(entry.properties["HttpMethod"]),
    path: pathOf(assembly, entry.properties["ResourceId"], entry.template) || "/",
    mock: objectOf(entry.properties["Integration"])["Type"] === "MOCK",
  }));
}

/** Only rows that are open on purpose, and the 405 of a path, go without an authorizer and an API key. */
const openMethods: Rule = (assembly, { routes }) =>
  methodsOf(assembly).flatMap(({ entry, method, path, mock }) => {
    if (mock && method === "ANY") return [];
    const row = routes.find((route) => route.method === method && route.path === path);
    if (row === undefined) return [finding("unknown-method", entry, `No row has ${method} ${path}.`)];
    if (row.auth === "none") return [];
    const { AuthorizationType: type, AuthorizerId: authorizer, ApiKeyRequired: key } = entry.properties;
    const known = resourceOf(assembly, "AWS::ApiGateway::Authorizer", authorizer) !== undefined;
    return [
      ...(type === "CUSTOM" && known ? [] : [finding("open-method", entry, `${method} ${path} has no authorizer.`)]),
      ...(key === true ? [] : [finding("unmetered-method", entry, `${method} ${path} asks for no API key.`)]),
    ];
  });

/** Every path that has methods answers the others with 405, and `Allow` lists exactly those it has. */
const methodNotAllowed: Rule = (assembly) => {
  const byPath = groupBy(methodsOf(assembly), ({ path }) => path);
  return [...byPath].flatMap(([path, methods]) => {
    const allowed = methods.filter(({ mock }) => !mock).map(({ method }) => method);
    const any = methods.find(({ method, mock }) => mock && method === "ANY");
    const first = methods[0];
    if (first === undefined) return [];
    if (any === undefined) return [finding("no-405", first.entry, `${path} has no method that answers 405.`)];
    const response = objectOf(listOf(objectOf(any.entry.properties["Integration"])["IntegrationResponses"])[0]);
    const allow = objectOf(response["ResponseParameters"])["method.response.header.Allow"];
    const expected = `'${allowed.sort().join(", ")}'`;
    if (response["StatusCode"] === "405" && allow === expected) return [];
    return [finding("no-405", any.entry, `${path} must answer 405 with Allow ${expected}.`)];
  });
};

/** A plan that names a stage or a method which does not exist throttles nothing. */
const danglingPlans: Rule = (assembly) =>
  ofType(assembly, "AWS::ApiGateway::UsagePlan").flatMap((entry) => {
    const stages = listOf(entry.properties["ApiStages"]).map(objectOf);
    if (stages.length === 0) return [finding("dangling-plan", entry, "The plan has no stage.")];
    const known = new Set(methodsOf(assembly).map(({ method, path }) => `${path}/${method}`));
    return stages.flatMap((stage) => {
      const exists = resourceOf(assembly, "AWS::ApiGateway::Stage", stage["Stage"]) !== undefined;
      const unknown = Object.keys(objectOf(stage["Throttle"])).filter((key) => !known.has(key));
      return [
        ...(exists ? [] : [finding("dangling-plan", entry, "The plan names a stage that does not exist.")]),
        ...unknown.map((key) => finding("dangling-plan", entry, `The plan throttles ${key}, which does not exist.`)),
      ];
    });
  });

/** Rules of the methods, and of the plans that meter them. */
export const apiRules: readonly Rule[] = [openMethods, methodNotAllowed, danglingPlans];
