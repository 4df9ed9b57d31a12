import type { components, paths } from "../../../../.build/dashboard-types/api.d.ts";

export type { paths };

/** The resources of the API by their names in the document. */
export type Schemas = components["schemas"];

type Body<T> = T extends { content: { "application/json": infer B } } ? B : never;

/** The answer to a GET of a path. */
export type Answer<P extends keyof paths> = paths[P] extends { get: { responses: { 200: infer R } } } ? Body<R> : never;

/** Paths that can be read. */
export type ReadPath = { [P in keyof paths]: [Answer<P>] extends [never] ? never : P }[keyof paths];

/** Paths that answer a page of a list. */
export type ListPath = {
  [P in ReadPath]: Answer<P> extends { data: readonly unknown[]; page: object } ? P : never;
}[ReadPath];

/** One item of a list. */
export type ItemOf<P extends ListPath> = Answer<P> extends { data: readonly (infer I)[] } ? I : never;
