/**
 * The currencies that an account can have, by their number of decimal digits: ISO 4217 (list one of 2024-06-25, every
 * code that has a minor unit) and four crypto assets. Dollar tokens have the six digits of their contracts (ADR 0050).
 * This is their only table; which of them a brokerage offers is one of its settings.
 */
const codesByDigits = {
  0: ["JPY BIF CLP DJF GNF ISK KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"],
  2: [
    "USD EUR GBP CHF AUD AED AFN ALL AMD ANG AOA ARS AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD",
    "CAD CDF CHE CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB FJD FKP GEL GHS GIP GMD GTQ GYD HKD HNL",
    "HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR",
    "MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP",
    "SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USN UYU UZS VED VES WST XCD YER ZAR ZMW ZWG",
  ],
  3: ["BHD IQD JOD KWD LYD OMR TND"],
  4: ["CLF UYW"],
  6: ["USDT USDC"],
  8: ["BTC ETH"],
} as const;

/** Cent currencies: a unit of one is a hundredth of a unit of its parent, whose digits it has. */
const parentsOfCents = { USC: "USD", EUC: "EUR", GBC: "GBP" } as const;

type Words<S extends string, W = never> = S extends `${infer A} ${infer B}` ? Words<B, W | A> : W | S;

type Listed = {
  [D in keyof typeof codesByDigits]: Words<(typeof codesByDigits)[D][number]>;
}[keyof typeof codesByDigits];

/** Code of a currency that an account can have. */
export type CurrencyCode = Listed | keyof typeof parentsOfCents;

/** The currencies that a new brokerage offers. */
export const defaultCurrencies = ["USD", "EUR", "GBP", "CHF", "JPY", "AUD"] as const satisfies readonly CurrencyCode[];

const digits = Object.fromEntries(
  Object.entries(codesByDigits).flatMap(([count, codes]) =>
    codes.flatMap((line) => line.split(" ")).map((code) => [code, Number(count)]),
  ),
) as Record<Listed, number>;

/** Digits after the decimal point of each currency. */
export const minorDigits: Readonly<Record<CurrencyCode, number>> = {
  ...digits,
  USC: digits.USD,
  EUC: digits.EUR,
  GBC: digits.GBP,
};

/** Every code: those of a new brokerage first, the others by name. */
export const currencyCodes: readonly CurrencyCode[] = [
  ...new Set([...defaultCurrencies, ...(Object.keys(minorDigits) as CurrencyCode[]).toSorted()]),
];

/** Units of prices, a hundredth of a currency each, which no account has: pence of London, cents of Johannesburg. */
const parentsOfPrices = { GBX: "GBP", GBp: "GBP", ZAC: "ZAR", ILA: "ILS" } as const;

const parents = new Map<string, string>(Object.entries({ ...parentsOfCents, ...parentsOfPrices }));

/** The currency that pairs convert: the parent of a cent currency or a unit of prices, and every other one itself. */
export function wholeOf(currency: string): string {
  return parents.get(currency) ?? currency;
}
