import { createHash } from "node:crypto";

/** Passes after which Lambda ends a chain of messages (AWS docs: Lambda recursive loop detection: about 16). */
export const passesOfLambda = 16;

/**
 * The passes of functions over a chain of messages, as Lambda counts them in the trace header:
 * `Root=…;Lineage=1a2b3c4d:3|5e6f7a8b:1`. Lambda hands the header to the function, its SDK sends it with each call, and
 * SQS keeps it with the message.
 */
const lineageForm = /(?:^|;)Lineage=([^;]*)/;

function nameOf(arn: string): string {
  return createHash("sha256").update(arn).digest("hex").slice(0, 8);
}

function passesIn(header: string | undefined): Map<string, number> {
  const text = lineageForm.exec(header ?? "")?.[1] ?? "";
  const pairs = text.split("|").map((pair) => pair.split(":"));
  return new Map(pairs.map(([name = "", count]) => [name, Number(count)]));
}

/** How often a function has passed over the chain of a message. */
export function passesOf(arn: string, header: string | undefined): number {
  return passesIn(header).get(nameOf(arn)) ?? 0;
}

/** The header of a function for the chain that it continues: one pass more than the message that it got. */
export function lineageAfter(arn: string, header: string | undefined): string {
  const passes = passesIn(header);
  passes.delete("");
  passes.set(nameOf(arn), passesOf(arn, header) + 1);
  return `Lineage=${[...passes].map(([name, count]) => `${name}:${count}`).join("|")}`;
}

/** The header that a message keeps: the trace that its sender names, with the passes of the call that sent it. */
export function traceOfMessage(named: string | undefined, ofCall: string | undefined): string | undefined {
  const [lineage] = lineageForm.exec(ofCall ?? "") ?? [];
  if (named === undefined || lineage === undefined) return named ?? ofCall;
  return `${named.replace(lineageForm, "")};${lineage.replace(/^;/, "")}`;
}
