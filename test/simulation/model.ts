import { type Answered, type Books, type Call, compare, type Expected, nameOf } from "./model-books.ts";
import { createClient, moveAccount, moveClient, openAccount, setMode, verifyClient } from "./model-clients.ts";
import { bookMoney, moveMoney } from "./model-money.ts";

/**
 * Takes a call and its answer into the books. Returns what is wrong with the answer, or undefined; after a wrong answer
 * the books are of no use.
 */
export function enter(books: Books, call: Call, answer: Answered): string | undefined {
  const place = call.key === undefined ? undefined : `${call.application} ${call.key}`;
  const kept = place === undefined ? undefined : books.kept.get(place);
  if (kept !== undefined) {
    if (kept.request !== call.request) return compare({ status: 422, code: "idempotency_key_reused" }, call, answer);
    const same = kept.answer.status === answer.status && kept.answer.text === answer.text && answer.replayed;
    return same ? undefined : `${nameOf(call)} was to be answered as before, not ${answer.status} ${answer.text}`;
  }
  if (answer.replayed) return `${nameOf(call)} was answered as a call that never was`;
  const id = answer.status === 201 ? (JSON.parse(answer.text) as { id: string }).id : undefined;
  const expected = decide(books, call, id ?? "nothing");
  const wrong = compare(expected, call, answer);
  const fault = expected.code === "validation_failed";
  const keeps = expected.status < 300 || expected.status === 409 || (expected.status === 422 && !fault);
  if (place !== undefined && keeps) books.kept.set(place, { request: call.request, answer });
  return wrong;
}

function decide(books: Books, { intent, application }: Call, id: string): Expected {
  switch (intent.do) {
    case "create_client":
      return createClient(books, intent, id);
    case "client_status":
      return moveClient(books, intent);
    case "verification":
      return verifyClient(books, intent);
    case "open_account":
      return openAccount(books, intent, id);
    case "account_status":
      return moveAccount(books, intent);
    case "trading_mode":
      return setMode(books, intent);
    case "book":
      return bookMoney(books, intent, application, id);
    case "move":
      return moveMoney(books, intent, application);
    case "settings":
      books.four_eyes = intent.four_eyes;
      books.require_verified_client = intent.require;
      return { status: 200, shows: { four_eyes: intent.four_eyes, require_verified_client: intent.require } };
  }
}
