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

/** A text that a client is found by, and the part of an identifier that breaks ties. */
type Found = readonly [text: string, of: string];

interface Texts {
  readonly email: Found;
  readonly names: readonly Found[];
  readonly phones: readonly Found[];
  readonly numbers: readonly Found[];
}

const folded = new WeakMap<ModelClient, Texts>();

/** The texts that a client is found by, folded once: each of many searches looks at every client. */
function textsOf(client: ModelClient): Texts {
  const known = folded.get(client);
  if (known !== undefined) return known;
  const { id, first_name: first, last_name: last, company_name: company, phone, accounts } = client;
  const words = modelFold(company ?? last ?? "", false).split(" ");
  const names = [
    modelFold(company ?? `${first ?? ""} ${last ?? ""}`, false),
    modelFold(`${last ?? ""} ${first ?? ""}`, false),
    ...(words.length > 1 ? [words.at(-1) ?? ""] : []),
  ];
  const texts = {
    email: [modelFold(client.email, true), id],
    names: names.map((text): Found => [text, id]),
    phones: phone === null ? [] : [[phone.slice(1), id] as const],
    numbers: accounts.map(({ id: of, number }): Found => [number, of]),
  } as const;
  folded.set(client, texts);
  return texts;
}

/** The identifiers of the clients that a search finds, in its order, and no more than asked for. */
export function modelSearch(all: readonly ModelClient[], search: string, limit: number) {
  const [name, email] = [modelFold(search, false), modelFold(search, true)];
  const digits = search.replace(/[\s+]/g, "");
  const isEmail = search.includes("@");
  const isDigits = /^\d+$/.test(digits);
  const places: { id: string; place: Buffer }[] = [];
  for (const client of all) {
    const { id } = client;
    const add = ([whole, of]: Found, prefix: string) => {
      const text = [...whole].slice(0, 64).join("");
      if (text !== "" && text.startsWith(prefix)) places.push({ id, place: Buffer.from(`${text}\t${of.slice(4)}`) });
    };
    const texts = textsOf(client);
    add(texts.email, email);
    if (isEmail) continue;
    for (const each of texts.names) add(each, name);
    if (isDigits) for (const each of texts.phones) add(each, digits);
    if (isDigits && digits.length > 2) for (const each of texts.numbers) add(each, digits);
  }
  const sorted = places.sort((one, other) => Buffer.compare(one.place, other.place)).map(({ id }) => id);
  const exact = all.filter(({ external_id }) => external_id === search.trim().normalize("NFC")).map(({ id }) => id);
  const ids = [...new Set([...exact, ...sorted])];
  return { ids: ids.slice(0, limit), has_more: ids.length > limit };
}
