import type { NamedTemplate, Template } from "../../../infra/checks/assembly.ts";

/** A resource that a defect is planted into by writing at will. */
export interface Found {
  readonly logicalId: string;
  readonly properties: Record<string, unknown>;
  readonly resource: Record<string, unknown>;
  readonly template: Template;
}

/** The first resource of a type that fits, to be changed in place; throws when there is none. */
export function find(templates: readonly NamedTemplate[], type: string, fits = (_: string) => true): Found {
  for (const { template } of templates) {
    for (const [logicalId, resource] of Object.entries(template.Resources)) {
      if (resource.Type === type && fits(JSON.stringify([logicalId, resource]))) {
        const writable = resource as unknown as Record<string, unknown>;
        return { logicalId, template, resource: writable, properties: resource.Properties as Record<string, unknown> };
      }
    }
  }
  throw new Error(`There is no such ${type}.`);
}

/** Whether the JSON of a resource holds a text. */
export function withText(text: string): (json: string) => boolean {
  return (json) => json.includes(text);
}
