import type { Schemas } from "../../api/types.ts";
import { grouped, less } from "../../parts/format.ts";

type Drift = Schemas["Drift"];

/** An action on a drift, as the request names it. */
export type DriftAction = Schemas["ResolveDriftRequest"]["action"];

/** An action with a sentence about what it books, and the word of its button. */
export interface DriftOption {
  readonly action: DriftAction;
  readonly text: string;
  readonly button: string;
}

const signed = (amount: string) => (amount.startsWith("-") ? grouped(amount) : `+${grouped(amount)}`);

const secondPerson = "A second person has to agree.";

/**
 * Actions that the service takes for a drift now, each with what it books. While another person's proposal waits, it is
 * the only one.
 */
export function driftOptions(drift: Drift): readonly DriftOption[] {
  const { proposal } = drift;
  const options = [...moves(drift), accepting(drift)];
  if (proposal === null) return options;
  const found = options.find(({ action }) => action === proposal.action);
  return found === undefined
    ? []
    : [{ ...found, text: agreement(found.text, proposal), button: `Agree: ${found.button}` }];
}

function agreement(text: string, { by }: NonNullable<Drift["proposal"]>): string {
  return text.replace(secondPerson, `${by.name ?? by.id} proposed this. It is done when you agree.`);
}

function accepting({ kind, ours, theirs }: Drift): DriftOption {
  const both = ours !== null && theirs !== null ? ` of ${signed(less(theirs, ours))}` : "";
  const difference = kind === "balance" || kind === "credit" ? `the difference${both}` : "the difference";
  return {
    action: "accept",
    text: `Books nothing, here or on the platform: ${difference} stays, and is reported again only when it changes.`,
    button: "Accept the difference",
  };
}

/** Actions that make both books equal. */
function moves(drift: Drift): readonly DriftOption[] {
  const { kind, ours, theirs } = drift;
  switch (kind) {
    case "balance":
    case "credit": {
      const delta = less(theirs ?? "0", ours ?? "0");
      const adopt: DriftOption = {
        action: "adopt_platform",
        text:
          `Books ${signed(delta)} of ${kind} here, which is ${grouped(theirs ?? "0")} then, as on the platform. ` +
          secondPerson,
        button: `Book ${signed(delta)} here`,
      };
      if (kind === "credit") return [adopt];
      const back = less(ours ?? "0", theirs ?? "0");
      const command: DriftOption = {
        action: "command_platform",
        text:
          `Asks the platform to book ${signed(back)}, so that its balance is ${grouped(ours ?? "0")} as here. ` +
          "With four eyes a second person has to agree.",
        button: `Have the platform book ${signed(back)}`,
      };
      return [adopt, command];
    }
    case "position_missing_here":
      return [position("Opens here, without money, the position that the platform has.", "Open the position here")];
    case "position_missing_there":
      return [
        position("Closes here, without money, the position that the platform has not.", "Close the position here"),
      ];
    case "position_lots":
    case "position_side":
      return [
        position(
          `Makes the position here ${theirs ?? "that of the platform"}, without money.`,
          "Change the position here",
        ),
      ];
    case "account_unknown":
      return [
        position(
          "Makes an account of this service the account of the platform, with its balance and positions.",
          "Adopt the account",
        ),
      ];
    default:
      return [];
  }
}

const position = (text: string, button: string): DriftOption => ({
  action: "adopt_platform",
  text: `${text} ${secondPerson}`,
  button,
});
