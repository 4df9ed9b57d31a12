/** A resource of the synthesized templates: its type, and its logical id without the eight characters of its hash. */
export interface Resource {
  readonly type: string;
  readonly id: string;
}

/** Something that the deployed service does wrong, with the resources that decide about it. */
export class Finding extends Error {
  readonly resources: readonly Resource[];

  constructor(message: string, resources: readonly Resource[]) {
    super(message);
    this.resources = resources;
  }
}

/** A check that could not see what it looks for, such as a limit that this machine is too slow to reach. */
export class Unseen extends Error {}

/**
 * Asserts something about the service.
 * @throws Finding with this message and these resources when the condition does not hold
 */
export function must(holds: boolean, message: string, resources: readonly Resource[]): asserts holds {
  if (!holds) throw new Finding(message, resources);
}
