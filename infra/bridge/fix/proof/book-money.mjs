/**
 * The hook for money of the test: a platform that books operations in a file. Argument: the file. Reads the command
 * from its standard input and prints the outcome.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

const [file = ""] = process.argv.slice(2);
const command = JSON.parse(readFileSync(0, "utf8"));
const booked = existsSync(file)
  ? readFileSync(file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  : [];
const found = booked.find((/** @type {any} */ operation) => operation.comment === command.comment);
if (command.type === "find_operation") {
  console.log(JSON.stringify({ status: "done", operation_id: found?.operation_id ?? null }));
} else {
  const operation_id = `B-${booked.length + 1}-${command.comment.slice(-6)}`;
  const { platform_login, amount, comment } = command;
  appendFileSync(file, `${JSON.stringify({ operation_id, platform_login, amount, comment })}\n`);
  console.log(JSON.stringify({ status: "done", operation_id }));
}
