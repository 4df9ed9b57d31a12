/** A file by its path from the root of the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Looks at one file and says in sentences what is wrong with it. */
export type Rule = (file: SourceFile) => string[];
