import { Checkbox, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, type KeyboardEvent, type ReactNode, useId as useElementId, useRef, useState } from "react";
import { isSending, useCommand } from "../api/data.ts";
import { faultsByField } from "../api/problem.ts";
import { announce } from "./dialog-host.tsx";
import { CommandFoot, CommandFrame, commandName } from "./dialogs.tsx";
import { inWords } from "./format.ts";
import { CommandError } from "./states-of-page.tsx";

/** A field of a form. Its name is that of the member of the request. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly kind?: "text" | "area" | "choice" | "one" | "tick" | "ticks" | "date";
  /** Values of a choice, of `one` of sentences with none chosen at first, or of ticks; a pair has its words. */
  readonly values?: readonly (string | readonly [value: string, words: string])[];
  readonly first?: string | readonly string[];
  readonly optional?: boolean;
  readonly placeholder?: string;
  /** Text below the field, and the value that the person may take in place of their own. */
  readonly note?: { readonly text: string; readonly now?: string | readonly string[] };
  /** A part of the form of its own making, for what no other kind shows. */
  readonly render?: (value: readonly string[], set: (value: readonly string[]) => void) => ReactNode;
}

/** Entered values by the names of the fields: a text, or the values that are ticked. */
export type Entered = Readonly<Record<string, string | readonly string[]>>;

/** A form in a dialog: its fields, its words, and what becomes of what was entered. */
export interface FormDialogProps<Out> {
  readonly title: string;
  readonly fields: readonly Field[];
  /** Word of the button; with an amount it names it. */
  readonly submit: string | ((entered: Entered) => string);
  readonly foot?: string;
  readonly intro?: ReactNode;
  /** Further content to look at before it is sent, by the entered values. */
  readonly more?: (entered: Entered) => ReactNode;
  readonly danger?: boolean;
  readonly wide?: boolean;
  /** The answer is shown in the place of the form, so closing is left to what shows it. */
  readonly keepOpen?: boolean;
  /** There is nothing to send before a field has another value than at first. */
  readonly needsChange?: boolean;
  /** The version of what is changed: the same entries for another one are another command. */
  readonly version?: number;
  /** Replaces the text of an error. */
  readonly errorText?: (error: unknown) => ReactNode;
  /** Sends what was entered; `changed` names the fields that have another value than at first. */
  readonly run: (entered: Entered, key: string, changed: readonly string[]) => Promise<Out>;
  readonly onDone?: (answer: Out) => void;
  readonly onClose: () => void;
}

/** A form in a dialog. The service judges it: its faults stand under their fields, and the first one gets the focus. */
export function FormDialog<Out>(props: FormDialogProps<Out>) {
  const {
    title,
    fields,
    submit,
    foot,
    intro,
    more,
    danger = false,
    wide = false,
    keepOpen = false,
    needsChange = false,
  } = props;
  const { version, run, onDone, onClose, errorText } = props;
  const [touched, setTouched] = useState<Entered>({});
  const entered = Object.fromEntries(fields.map((one) => [one.name, touched[one.name] ?? firstOf(one)]));
  const changed = fields.filter((one) => !sameEntry(entered[one.name] ?? "", firstOf(one))).map(({ name }) => name);
  const form = useRef<HTMLFormElement>(null);
  const sending = useCommand(commandName(title, version), (input: Entered, key) => run(input, key, changed));
  const faults = faultsByField(sending.error);
  const ownFaults = fields.filter(({ render }) => render === undefined).map(({ name }) => name);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isSending() || (needsChange && changed.length === 0)) return;
    sending.mutate(entered, {
      onSuccess: (answer) => {
        if (!keepOpen) {
          onClose();
          announce(`${title}: done.`);
        }
        onDone?.(answer);
      },
      onError: (error) => {
        const named = fields.find(({ name }) => faultOf(faultsByField(error), name) !== undefined);
        form.current?.querySelector<HTMLElement>(`[name="${named?.name ?? ""}"]`)?.focus();
      },
    });
  };
  const word = typeof submit === "string" ? submit : submit(entered);
  return (
    <CommandFrame title={title} wide={wide} sending={sending.isPending} onClose={onClose}>
      <form ref={form} className="form" onSubmit={send} noValidate>
        {intro}
        {sending.error !== null &&
          (errorText?.(sending.error) ?? <CommandError error={sending.error} underFields={ownFaults} />)}
        {fields.map((field, place) => (
          <FieldView
            key={field.name}
            field={field}
            focused={place === 0}
            value={entered[field.name] ?? ""}
            fault={faultOf(faults, field.name)}
            onChange={(value) => setTouched((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        {more?.(entered)}
        <CommandFoot
          word={word}
          note={foot}
          danger={danger}
          sending={sending.isPending}
          disabled={needsChange && changed.length === 0}
          focused={fields.length === 0}
          onClose={onClose}
        />
      </form>
    </CommandFrame>
  );
}

/** The value of a field before anything was entered. */
export function firstOf({ first, kind }: Field): string | readonly string[] {
  return first ?? (kind === "ticks" ? [] : "");
}

/** Whether two values of a field are the same; what is ticked has no order. */
export function sameEntry(one: string | readonly string[], other: string | readonly string[]): boolean {
  if (typeof one === "string" || typeof other === "string") return String(one) === String(other);
  return one.length === other.length && one.every((each) => other.includes(each));
}

/** The fault of a member, or of an item of it. */
function faultOf(faults: ReadonlyMap<string, string>, name: string): string | undefined {
  const place = name.replaceAll(".", "/");
  // A field of an object in the request has the name of its last member.
  return [...faults].find(([at]) => `/${at}/`.includes(`/${place}/`))?.[1];
}

interface FieldViewProps {
  readonly field: Field;
  /** The focus is here when the dialog opens. */
  readonly focused: boolean;
  readonly value: string | readonly string[];
  readonly fault: string | undefined;
  readonly onChange: (value: string | readonly string[]) => void;
}

function FieldView(props: FieldViewProps) {
  const { field, onChange } = props;
  return (
    <>
      <FieldInput {...props} />
      {field.note !== undefined && (
        <p className="field-note" role="status">
          {field.note.text}{" "}
          {field.note.now !== undefined && (
            <button type="button" className="plain" onClick={() => onChange(field.note?.now ?? "")}>
              Take it
            </button>
          )}
        </p>
      )}
    </>
  );
}

function FieldInput({ field, focused, value, fault, onChange }: FieldViewProps) {
  const { name, label, help, kind = "text", optional = false, placeholder } = field;
  const text = typeof value === "string" ? value : "";
  const words = typeof value === "string" ? [] : value;
  if (field.render !== undefined) return field.render(words, onChange);
  const place = { field, focused, fault, onChange };
  if (kind === "choice") return <Choice {...place} value={text} />;
  if (kind === "one") return <OneOf {...place} value={text} />;
  if (kind === "ticks") return <Ticks {...place} value={words} />;
  const shared = { name, error: fault, description: help, placeholder, "data-autofocus": focused || undefined };
  if (kind === "tick") {
    const change = (checked: boolean) => onChange(checked ? "yes" : "");
    return (
      <Checkbox
        {...shared}
        label={label}
        checked={text === "yes"}
        onChange={({ currentTarget }) => change(currentTarget.checked)}
      />
    );
  }
  const Input = kind === "area" ? Textarea : TextInput;
  return (
    <Input
      {...shared}
      label={optional ? `${label} (optional)` : label}
      value={text}
      type={kind === "date" ? "date" : undefined}
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

const pairOf = (one: string | readonly [string, string]) =>
  typeof one === "string" ? ([one, inWords(one)] as const) : one;

function Choice({
  field: { name, label, help, values = [] },
  focused,
  value,
  fault,
  onChange,
}: FieldViewProps & { readonly value: string }) {
  const id = useElementId();
  const pairs = values.map(pairOf);
  // A value that a later version of the service added is shown too: the first one of the list would not be true.
  const shown = value === "" || pairs.some(([one]) => one === value) ? pairs : [pairOf(value), ...pairs];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {help && <p className="help">{help}</p>}
      <select
        id={id}
        name={name}
        className="select"
        value={value}
        data-autofocus={focused || undefined}
        onChange={({ target }) => onChange(target.value)}
      >
        {shown.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
      {fault && <p className="field-error">{fault}</p>}
    </div>
  );
}

/** A choice whose values are sentences: each is read before one is chosen. */
function OneOf({
  field: { name, label, values = [] },
  focused,
  value,
  fault,
  onChange,
}: FieldViewProps & { readonly value: string }) {
  return (
    <fieldset className="field">
      <legend className="group-label">{label}</legend>
      <div className="sentences">
        {values.map(pairOf).map(([one, words], place) => (
          <label key={one}>
            <input
              type="radio"
              name={name}
              value={one}
              data-autofocus={(focused && place === 0) || undefined}
              checked={value === one}
              onChange={() => onChange(one)}
            />
            <span>{words}</span>
          </label>
        ))}
      </div>
      {fault && <p className="field-error">{fault}</p>}
    </fieldset>
  );
}

function Ticks({
  field: { name, label, help, values = [] },
  focused,
  value,
  fault,
  onChange,
}: FieldViewProps & { readonly value: readonly string[] }) {
  const change = (one: string, checked: boolean) =>
    onChange(checked ? [...value, one] : value.filter((each) => each !== one));
  const pairs = values.map(pairOf);
  // A digit chooses the tick of its number, so that a long list needs no way through it.
  const press = (event: KeyboardEvent) => {
    const one = /^\d$/.test(event.key) ? pairs[(Number(event.key) + 9) % 10]?.[0] : undefined;
    if (one !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) change(one, !value.includes(one));
  };
  return (
    <fieldset className="field" onKeyDown={press}>
      <legend className="group-label">
        {label} <span className="help">{value.length} chosen</span>
      </legend>
      {help && <p className="help">{help}</p>}
      <div className="ticks">
        {pairs.map(([one, words], place) => (
          <Checkbox
            key={one}
            name={name}
            label={words}
            data-autofocus={(focused && place === 0) || undefined}
            checked={value.includes(one)}
            onChange={({ currentTarget }) => change(one, currentTarget.checked)}
          />
        ))}
      </div>
      {fault && <p className="field-error">{fault}</p>}
    </fieldset>
  );
}

/** The text of a field without the space around it; undefined when there is none. */
export function textOf(entered: Entered, name: string): string | undefined {
  const value = entered[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** The words of a field that takes several, separated by commas or spaces. */
export function wordsOf(entered: Entered, name: string): string[] {
  const value = entered[name];
  return typeof value === "string" ? value.split(/[\s,]+/).filter(Boolean) : [...(value ?? [])];
}
