import { useEffect, useRef, useState } from "react";
import { useAddress } from "./address.ts";
import { inWords } from "./format.ts";
import { Icon } from "./icons.tsx";

/** A filter of a list: a choice of values, or a text. Its name is that of the query parameter of the API. */
export interface Filter {
  readonly name: string;
  readonly label: string;
  readonly values?: readonly string[];
  /** The word for no choice, where that is not any value. */
  readonly none?: string;
  /** The words of the values where the value itself is the word. */
  readonly verbatim?: boolean;
  readonly wide?: boolean;
  /** A day, whose beginning in UTC is the moment that the API compares. */
  readonly day?: boolean;
}

/** Filters of a list by a moment of its items: from the beginning of a day on, and before that of another. */
export function dayFilters(moment: string, word: string): readonly Filter[] {
  return [
    { name: `${moment}_from`, label: `${word} from`, day: true },
    { name: `${moment}_to`, label: `${word} before`, day: true },
  ];
}

/** The filters of a list as chips. Each is a parameter of the address. */
export function Filters({
  filters,
  children,
}: {
  readonly filters: readonly Filter[];
  readonly children?: React.ReactNode;
}) {
  const [search, change] = useAddress();
  return (
    <search className="chips filters">
      {filters.map((filter) => (
        <Chip
          key={filter.name}
          filter={filter}
          value={search[filter.name]}
          onChange={(value) => change({ [filter.name]: value })}
        />
      ))}
      {children}
    </search>
  );
}

interface ChipProps {
  readonly filter: Filter;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

function Chip({ filter, value, onChange }: ChipProps) {
  const { label, values, none = "any", verbatim = false } = filter;
  if (values === undefined) return <TextChip filter={filter} value={value} onChange={onChange} />;
  return (
    <span className="chip">
      <label className="with-icon">
        {label.toLowerCase()}
        <select value={value ?? ""} onChange={({ target }) => onChange(target.value || undefined)}>
          <option value="">{none}</option>
          {value !== undefined && !values.includes(value) && <option value={value}>{value}</option>}
          {values.map((one) => (
            <option key={one} value={one}>
              {verbatim ? one : inWords(one)}
            </option>
          ))}
        </select>
      </label>
      {value !== undefined && <Clear label={label} onClear={() => onChange(undefined)} />}
    </span>
  );
}

function TextChip({ filter, value, onChange }: ChipProps) {
  const [text, setText] = useState(value ?? "");
  const before = useRef(value);
  useEffect(() => {
    if (before.current !== value) setText(value ?? "");
    before.current = value;
  }, [value]);
  const apply = () => {
    if (text.trim() !== (value ?? "")) onChange(text.trim() || undefined);
  };
  const className = `chip${value === undefined ? " open-text" : ""}${filter.wide ? " wide" : ""}`;
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      {(filter.day || value !== undefined) && <span>{filter.label.toLowerCase()}</span>}
      <input
        type={filter.day ? "date" : "text"}
        aria-label={filter.label}
        placeholder={filter.label}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={apply}
      />
      {value !== undefined && <Clear label={filter.label} onClear={() => onChange(undefined)} />}
    </form>
  );
}

function Clear({ label, onClear }: { readonly label: string; readonly onClear: () => void }) {
  return (
    <button type="button" aria-label={`Remove the filter ${label}`} onClick={onClear}>
      <Icon name="close" small />
    </button>
  );
}

/** The filters that are set, for the query of the list. */
export function queryOf(filters: readonly Filter[], search: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(
    filters.flatMap(({ name, day }) =>
      search[name] ? [[name, day ? `${search[name]}T00:00:00Z` : search[name]]] : [],
    ),
  );
}
