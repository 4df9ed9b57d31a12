import { spentUnits } from "../runtime/budget.ts";

/** A client of documents. */
interface Client {
  readonly send: (...given: never[]) => unknown;
}

/** The class of a command. */
type CommandClass = abstract new (...given: never[]) => object;

/** Units in an answer; a transaction and a batch report those of each table. */
interface Answer {
  readonly ConsumedCapacity?: Consumed | readonly Consumed[];
}

interface Consumed {
  readonly CapacityUnits?: number;
}

/**
 * The client, which asks DynamoDB with each call for the units that it takes, its indexes included, and adds them to
 * what the work of the budget has spent: as read units those of the commands `reads`, as write units all others. A call
 * that fails reports none. Outside of a budget nothing is asked for.
 */
export function metered<C extends Client>(client: C, reads: readonly CommandClass[]): C {
  const send = client.send.bind(client) as (command: unknown, options?: object) => Promise<Answer>;
  const counting = async (command: { readonly input: Record<string, unknown> }, options?: object) => {
    const spent = spentUnits();
    if (spent === undefined) return send(command, options);
    command.input["ReturnConsumedCapacity"] = "TOTAL";
    const answer = await send(command, options);
    const units = reads.some((read) => command instanceof read) ? "read_units" : "write_units";
    for (const { CapacityUnits = 0 } of [answer.ConsumedCapacity ?? []].flat()) spent[units] += CapacityUnits;
    return answer;
  };
  return Object.assign(client, { send: counting as unknown as C["send"] });
}
