/** An actor as it acts now, or as it was stored at any time. */
export interface Party {
  readonly type: string;
  readonly id: string;
  readonly operator_ids?: readonly string[] | undefined;
}

/**
 * The people behind an actor, by the identifiers of their operators: the operator with their former ones, or those who
 * made the application or were shown its secret. None of an application that only a terminal made, and of the system.
 */
export function peopleOf({ type, id, operator_ids = [] }: Party): readonly string[] {
  return type === "operator" ? [id, ...operator_ids] : operator_ids;
}

/** Whether two actors are the same, or one person stands behind both: then they are no four eyes. */
export function samePerson(one: Party, other: Party): boolean {
  const people = peopleOf(other);
  return one.id === other.id || peopleOf(one).some((id) => people.includes(id));
}
