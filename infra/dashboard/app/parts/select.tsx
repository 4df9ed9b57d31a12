import { inWords } from "./format.ts";

interface SelectProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly values: readonly T[];
  readonly onChange: (value: T) => void;
}

/** A choice of one of a few values, by their words. */
export function Select<T extends string>({ label, value, values, onChange }: SelectProps<T>) {
  return (
    <label className="field">
      <span className="group-label">{label}</span>
      <select className="select" value={value} onChange={({ target }) => onChange(target.value as T)}>
        {values.map((one) => (
          <option key={one} value={one}>
            {inWords(one)}
          </option>
        ))}
      </select>
    </label>
  );
}
