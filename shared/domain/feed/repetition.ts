import { limits } from "../../limits.ts";
import { refuseFields } from "../kernel/decision.ts";
import type { Dedup, DedupName } from "../records/feed-item.ts";
import type { ItemReading, ReadItem } from "./batch.ts";

/** Members of an item that a repetition of it is compared by; null where it does not say. */
export type Content = readonly (string | null)[];

/**
 * The members of each kind in the order of a content. Times, stops and orders are not among them: platforms report them
 * in several ways. Items of the other kinds have all that they say in their names.
 */
const members: Readonly<Partial<Record<DedupName[0], readonly string[]>>> = {
  open: ["platform_login", "position_id", "symbol", "side", "lots", "price", "profit", "commission", "swap"],
  close: ["platform_login", "position_id", "lots", "price", "profit", "commission", "swap", "remaining_position_id"],
  reversal: ["platform_login", "deal_id"],
  swap: ["amount"],
  operation: ["platform_login", "kind", "amount"],
};

const numbers: ReadonlySet<string> = new Set(["lots", "price", "profit", "commission", "swap", "amount"]);

/** The content of an item with this name. Numbers are in their shortest form, so that they compare by value. */
export function contentOf([kind]: DedupName, { type, data }: ReadItem): Content {
  const values = data as Readonly<Record<string, string | null | undefined>>;
  // The kind gives the sign of these amounts, whatever is before them.
  const unsigned = type === "balance_operation" && ["withdrawal", "credit_out"].includes(data.kind);
  return (members[kind] ?? []).map((member) => {
    const value = values[member] ?? null;
    if (value === null || !numbers.has(member)) return value;
    return shortest(unsigned ? value.replace("-", "") : value);
  });
}

function shortest(decimal: string): string {
  const plain = decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
  return plain === "-0" ? "0" : plain;
}

/** The contents that a name has applied, the last at the end. */
export type NotedContents = Pick<Dedup, "status" | "contents" | "taken_back">;

/**
 * Whether an item is new under its name, repeats what was applied under it, or contradicts that. A name remembers all
 * that it ever applied, so that a history that is sent again books nothing twice. A new item is applied only while the
 * last content is taken back. Then also what agrees with a former content but says more or less is a conflict: it may
 * be that content in another form, or a correction of what it did not say, and only a person knows.
 */
export function repetitionOf(note: NotedContents | undefined, content: Content): "new" | "repeated" | "conflict" {
  if (note?.status !== "applied") return "new";
  const known = contentsOf(note);
  if (known.length === 0) return "repeated";
  const agreeing = known.filter((each) => differing(each, content).length === 0);
  if (note.taken_back === undefined) return agreeing.length > 0 ? "repeated" : "conflict";
  if (agreeing.some((each) => each.every((value, at) => value === content[at]))) return "repeated";
  return agreeing.length > 0 || known.length >= limits.feed.max_contents ? "conflict" : "new";
}

function contentsOf({ contents = [] }: Pick<Dedup, "contents">): readonly Content[] {
  return contents.map((each) => JSON.parse(each) as Content);
}

/** Places at which two contents differ; what one of them does not say is not compared. */
function differing(one: Content, other: Content): number[] {
  return one.flatMap((value, at) => {
    const compared = other[at] ?? null;
    return value === null || compared === null || value === compared ? [] : [at];
  });
}

/** The contents of a name once an item is applied under it too. */
export function withContent(before: NotedContents | undefined, content: Content): Pick<Dedup, "contents"> {
  const known = before?.contents ?? [];
  return content.length === 0 ? {} : { contents: [...known, JSON.stringify(content)] };
}

/** The refusal of an item whose name has applied something else, with what that was. */
export function refuseConflict({ dedup, content }: Pick<ItemReading, "dedup" | "content">, note: NotedContents) {
  const booked = contentsOf(note).at(-1) ?? [];
  const named = members[dedup[0]] ?? [];
  const errors = differing(booked, content).map((at) => {
    const detail = `was ${booked[at]} when it was applied`;
    return { pointer: `#/data/${named[at]}`, code: "deal_conflict", detail };
  });
  const detail =
    note.taken_back === undefined
      ? "Something else was applied under this name."
      : "What was applied under this name was taken back, and this may be the same in another form.";
  const refused = refuseFields(errors).refusal;
  return {
    ok: false,
    refusal: { ...refused, code: "deal_conflict", detail, extra: { booked: bookedBody(dedup, booked) } },
  } as const;
}

/** The last content of a name, by the members of its items. */
function bookedBody([kind, name]: DedupName, content: Content): Readonly<Record<string, string>> {
  const values = (members[kind] ?? []).map((member, at) => [member, content[at] ?? null] as const);
  const given = Object.fromEntries(values.flatMap(([member, value]) => (value === null ? [] : [[member, value]])));
  switch (kind) {
    case "open":
    case "close":
      return { action: kind, deal_id: name, ...given };
    case "reversal":
      return { reversal_id: name, ...given };
    case "operation":
      return { operation_id: name, ...given };
    case "swap": {
      const [position_id = "", for_date = ""] = JSON.parse(name) as string[];
      return { position_id, for_date, ...given };
    }
    default:
      return given;
  }
}
