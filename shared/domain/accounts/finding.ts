import { limits } from "../../limits.ts";
import type { Change } from "../records/change.ts";
import type { Client, FindTexts } from "../records/client.ts";

/** The members of a client that it is found by. */
type Named = Pick<
  Client,
  "id" | "tenant_id" | "type" | "first_name" | "last_name" | "company_name" | "email" | "phone"
>;

/** Letters that have no decomposition, as they are typed on other keyboards. */
const plain: Readonly<Record<string, string>> = {
  ß: "ss",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  æ: "ae",
  œ: "oe",
  þ: "th",
  ı: "i",
  ς: "σ",
};

/** Marks, and what no one sees: joiners and selectors of forms. */
const marks = /[\p{M}\p{DI}]/gu;

/** Scripts that are written without spaces between the names of a person. */
const spaceless = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}]`;
const spacesWithin = new RegExp(`(?<=${spaceless}) (?=${spaceless})`, "gu");

/** A text without case, accents and apostrophes; lower case can bring a mark along (İ). */
function bare(text: string): string {
  const lower = text.normalize("NFKD").replace(marks, "").toLowerCase().replace(marks, "");
  return lower.replace(/['’ʼ]/gu, "").replace(/[ßøđðłæœþıς]/gu, (letter) => plain[letter] ?? letter);
}

/**
 * A name as it is compared by the search: letters and digits without case and accents, one space between words, none
 * between those of Chinese, Japanese and Korean names.
 */
export function foldedName(text: string): string {
  return bare(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .replace(spacesWithin, "");
}

/** An email address as it is compared by the search: its signs count. */
export function foldedEmail(text: string): string {
  return bare(text).trim();
}

/** The digits of a phone number or of the number of an account; undefined for any other text. */
function foldedDigits(text: string): string | undefined {
  const digits = text.normalize("NFKC").replace(/[\s+]/gu, "");
  return /^\d+$/.test(digits) ? digits : undefined;
}

/** The number of its characters, code points. */
function lengthOf(text: string): number {
  return [...text].length;
}

const { min_characters: shortest, max_characters: longest, min_number_digits: fewestDigits } = limits.search;

/** Beginnings that a search looks for in each of the texts; undefined where it has too few or too many characters. */
export function wantedBy(search: string): FindTexts | undefined {
  const [email, name, digits] = [foldedEmail(search), foldedName(search), foldedDigits(search)];
  const isEmail = search.includes("@");
  const length = lengthOf(isEmail ? email : name);
  if (length < shortest || length > longest) return undefined;
  if (isEmail) return { email };
  return {
    name,
    last_first: name,
    last_word: name,
    // A sign in front of the letters is no part of a name, but it may be one of an address.
    email,
    ...(digits === undefined ? {} : { phone: digits }),
    ...(digits === undefined || digits.length < fewestDigits ? {} : { number: digits }),
  };
}

/** The texts of a client's names and email address. */
export function namesOf({ first_name, last_name, company_name, email }: Omit<Named, "id">): FindTexts {
  const [first, last] = [first_name ?? "", last_name ?? ""];
  const words = foldedName(company_name ?? last).split(" ");
  return stored({
    name: foldedName(company_name ?? `${first} ${last}`),
    last_first: foldedName(`${last} ${first}`),
    last_word: words.length > 1 ? (words.at(-1) ?? "") : "",
    email: foldedEmail(email),
  });
}

/** Texts as they are stored: cut to the length of the longest search, without empty ones, which no key may be. */
function stored(texts: FindTexts): FindTexts {
  const cut = Object.entries(texts).map(([name, text]) => [name, [...text].slice(0, longest).join("")]);
  return Object.fromEntries(cut.filter(([, text]) => text !== "")) as FindTexts;
}

/** The changes that let a new client be found. */
export function findNew(client: Named): Change[] {
  const { tenant_id, id: client_id, phone } = client;
  return [
    { op: "find", item: { tenant_id, client_id, ...namesOf(client) } },
    ...(phone === null ? [] : [findPhone(client, phone)]),
  ];
}

/** The changes that let a client be found by what it is now and by nothing that it was. */
export function findAgain(before: Named, after: Named): Change[] {
  const { tenant_id, id: client_id } = after;
  const texts = namesOf(after);
  const isSame = JSON.stringify(texts) === JSON.stringify(namesOf(before));
  return [
    ...(isSame ? [] : [{ op: "find", item: { tenant_id, client_id, ...texts } } as const]),
    ...(after.phone === before.phone
      ? []
      : after.phone === null
        ? [{ op: "unfind", item: { tenant_id, client_id, phone: "" } } as const]
        : [findPhone(after, after.phone)]),
  ];
}

function findPhone({ tenant_id, id: client_id }: Named, phone: string): Change {
  return { op: "find", item: { tenant_id, client_id, phone: phone.replace("+", "") } };
}
