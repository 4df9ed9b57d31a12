/** A model of the search of clients, written from what it promises: it folds every text and looks at every client. */

/** A client of the model. */
export interface ModelClient {
  readonly id: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly company_name: string | null;
  readonly email: string;
  readonly phone: string | null;
  readonly external_id: string | null;
  readonly accounts: readonly { readonly id: string; readonly number: string }[];
}

const letters = new Map([
  ...["'", "’", "ʼ"].map((sign) => [sign, ""] as const),
  ...(["ßss", "øo", "đd", "ðd", "łl", "æae", "œoe", "þth", "ıi", "ςσ"] as const).map(
    (pair) => [pair.slice(0, 1), pair.slice(1)] as const,
  ),
]);
const isMark = (sign: string) => /^[\p{M}\p{DI}]$/u.test(sign);
const isEastern = (sign = "") => /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]$/u.test(sign);

/** A text folded sign by sign; those that are neither letter nor digit become a space, unless they are `kept`. */
export function modelFold(text: string, kept: boolean): string {
  const folded: string[] = [];
  for (const whole of text.normalize("NFKD").toLowerCase().normalize("NFKD")) {
    for (const sign of letters.get(whole) ?? whole) {
      if (isMark(sign)) continue;
      const isPlain = /^[\p{L}\p{N}]$/u.test(sign);
      if (kept || isPlain) folded.push(sign);
      else if (folded.at(-1) !== " ") folded.push(" ");
    }
  }
  const trimmed = [...folded.join("").trim()];
  if (kept) return trimmed.join("");
  return trimmed
    .filter((sign, at) => sign !== " " || !isEastern(trimmed[at - 1]) || !isEastern(trimmed[at + 1]))
    .join("");
}

/** The identifiers of the clients that a search finds, in its order, and no more than asked for. */
export function modelSearch(all: readonly ModelClient[], search: string, limit: number) {
  const [name, email] = [modelFold(search, false), modelFold(search, true)];
  const digits = search.replace(/[\s+]/g, "");
  const isEmail = search.includes("@");
  const isDigits = /^\d+$/.test(digits);
  const places: { id: string; place: string }[] = [];
  for (const client of all) {
    const { id, first_name: first, last_name: last, company_name: company } = client;
    const add = (text: string, prefix: string, of = id) => {
      const folded = [...text].slice(0, 64).join("");
      if (folded !== "" && folded.startsWith(prefix)) places.push({ id, place: `${folded}\t${of.slice(4)}` });
    };
    add(modelFold(client.email, true), email);
    if (isEmail) continue;
    const whole = modelFold(company ?? `${first ?? ""} ${last ?? ""}`, false);
    const words = modelFold(company ?? last ?? "", false).split(" ");
    add(whole, name);
    add(modelFold(`${last ?? ""} ${first ?? ""}`, false), name);
    if (words.length > 1) add(words.at(-1) ?? "", name);
    if (isDigits && client.phone !== null) add(client.phone.slice(1), digits);
    if (isDigits && digits.length > 2) for (const { id: of, number } of client.accounts) add(number, digits, of);
  }
  const bytes = (text: string) => Buffer.from(text);
  const sorted = places.sort((one, other) => Buffer.compare(bytes(one.place), bytes(other.place))).map(({ id }) => id);
  const exact = all.filter(({ external_id }) => external_id === search.trim().normalize("NFC")).map(({ id }) => id);
  const ids = [...new Set([...exact, ...sorted])];
  return { ids: ids.slice(0, limit), has_more: ids.length > limit };
}
