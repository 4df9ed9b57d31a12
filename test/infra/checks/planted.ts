import type { NamedTemplate, Template, TemplateResource } from "../../../infra/checks/assembly.ts";

/** A resource that a defect is planted into by writing at will. */
export interface Found {
  readonly logicalId: string;
  readonly properties: Record<string, unknown>;
  readonly resource: Record<string, unknown>;
  readonly template: Template;
}

/** Resources that `find` has copied. */
const copies = new WeakSet<TemplateResource>();

/** Templates that a defect can be planted into: what `find` returns of them is a copy, and the rest is shared. */
export function plantable(templates: readonly NamedTemplate[]): NamedTemplate[] {
  return templates.map(({ name, template }) => ({
    name,
    template: { ...template, Resources: { ...template.Resources } },
  }));
}

/** The first resource of a type that fits, to be changed in place; throws when there is none. */
export function find(templates: readonly NamedTemplate[], type: string, fits = (_: string) => true): Found {
  for (const { template } of templates) {
    for (const [logicalId, found] of Object.entries(template.Resources)) {
      if (found.Type !== type || !fits(JSON.stringify([logicalId, found]))) continue;
      const copy = copies.has(found) ? found : structuredClone(found);
      copies.add(copy);
      Object.assign(template.Resources, { [logicalId]: copy });
      const resource = copy as unknown as Record<string, unknown>;
      return { logicalId, template, resource, properties: copy.Properties as Record<string, unknown> };
    }
  }
  throw new Error(`There is no such ${type}.`);
}

/** Whether the JSON of a resource holds a text. */
export function withText(text: string): (json: string) => boolean {
  return (json) => json.includes(text);
}

/** The statements of a role's own policy. */
export function statements(role: Found): Record<string, unknown>[] {
  const [policy] = role.properties["Policies"] as [{ PolicyDocument: { Statement: Record<string, unknown>[] } }];
  return policy.PolicyDocument.Statement;
}
