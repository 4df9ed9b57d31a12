/** The equity at which a margin level in percent is reached, exact, in the decimals of the used margin. */
export function requiredEquity(usedMargin: string, levelPercent: string): string {
  const [, marginPart = ""] = usedMargin.split(".");
  const [, levelPart = ""] = levelPercent.split(".");
  const product = BigInt(usedMargin.replace(".", "")) * BigInt(levelPercent.replace(".", ""));
  // The percent are two more decimals; what lies below the last digit is cut off.
  const scaled = product / 10n ** BigInt(levelPart.length + 2);
  const digits = String(scaled).padStart(marginPart.length + 1, "0");
  const cut = digits.length - marginPart.length;
  return marginPart === "" ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`;
}
