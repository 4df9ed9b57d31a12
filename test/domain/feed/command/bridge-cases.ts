import type { MoneyCommand } from "../../../../shared/domain/records/command.ts";
import type { Transaction } from "../../../../shared/domain/records/transaction.ts";
import { TwoBooks } from "./bridge-model.ts";

/** Books with 500.00 on both sides, which a person has paid in on the platform. */
export function funded(): TwoBooks {
  const books = new TwoBooks();
  if (books.report(books.operate(50_000n, null)) !== "applied") throw new Error("It was put aside.");
  return books;
}

/** The newest command about a transaction. */
export function commandOf(books: TwoBooks, { id }: Pick<Transaction, "id">): MoneyCommand {
  const command = books.commands.get(books.transactions.get(id)?.command_id ?? "");
  if (command === undefined) throw new Error("No command was issued.");
  return command;
}

/** A transaction of which a command was issued and taken. */
export function taken(books: TwoBooks, kind: "deposit" | "withdrawal", amount: string, fee?: string) {
  const transaction = books.request(kind, amount, fee, "completed");
  if (transaction === undefined) throw new Error("It was refused.");
  const command = commandOf(books, transaction);
  if (books.take(command.id) === undefined) throw new Error("It was not handed out.");
  return { id: transaction.id, command };
}

/** The transaction as it is by now. */
export const now = (books: TwoBooks, { id }: Pick<Transaction, "id">) => books.transactions.get(id);
/** Balance, held, available and the number of pending transactions. */
export const money = ({ balance: { balance_minor, held_minor, available_minor, pending } }: TwoBooks) => [
  balance_minor,
  held_minor,
  available_minor,
  pending,
];
