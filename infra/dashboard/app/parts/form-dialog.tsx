import { Button, Checkbox, Modal, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useId as useElementId, useRef, useState } from "react";
import { useCommand } from "../api/data.ts";
import { faultsByField } from "../api/problem.ts";
import { inWords } from "./format.ts";
import { ErrorNotice } from "./states-of-page.tsx";

/** A field of a form. Its name is that of the member of the request. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly kind?: "text" | "area" | "choice" | "tick" | "ticks";
  /** Values of a choice or of ticks; a pair has its words. */
  readonly values?: readonly (string | readonly [value: string, words: string])[];
  readonly first?: string | readonly string[];
  readonly optional?: boolean;
  readonly placeholder?: string;
  /** A part of the form of its own making, for what no other kind shows. */
  readonly render?: (value: readonly string[], set: (value: readonly string[]) => void) => ReactNode;
}

/** What was entered, by the names of the fields: a text, or the values that are ticked. */
export type Entered = Readonly<Record<string, string | readonly string[]>>;

interface FormDialogProps<Out> {
  readonly title: string;
  readonly fields: readonly Field[];
  /** Word of the button; with an amount it names it. */
  readonly submit: string | ((entered: Entered) => string);
  readonly foot?: string;
  readonly intro?: ReactNode;
  readonly danger?: boolean;
  readonly wide?: boolean;
  /** The answer is shown in the place of the form, so closing is left to what shows it. */
  readonly keepOpen?: boolean;
  readonly run: (entered: Entered, key: string) => Promise<Out>;
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
    danger = false,
    wide = false,
    keepOpen = false,
    run,
    onDone,
    onClose,
  } = props;
  const [entered, setEntered] = useState<Entered>(() =>
    Object.fromEntries(fields.map((one) => [one.name, firstOf(one)])),
  );
  const form = useRef<HTMLFormElement>(null);
  const sending = useCommand(run);
  const faults = faultsByField(sending.error);
  const ownFaults = fields.filter(({ render }) => render === undefined).map(({ name }) => name);
  const send = (event: FormEvent) => {
    event.preventDefault();
    sending.mutate(entered, {
      onSuccess: (answer) => {
        if (!keepOpen) onClose();
        onDone?.(answer);
      },
      onError: (error) => {
        const named = fields.find(({ name }) => faultOf(faultsByField(error), name) !== undefined);
        form.current?.querySelector<HTMLElement>(`[name="${named?.name ?? ""}"]`)?.focus();
      },
    });
  };
  return (
    <Modal opened onClose={onClose} title={title} size={wide ? 648 : 480} centered={false}>
      <form ref={form} className="form" onSubmit={send} noValidate>
        {intro}
        {sending.error !== null && <ErrorNotice error={sending.error} underFields={ownFaults} />}
        {fields.map((field) => (
          <FieldView
            key={field.name}
            field={field}
            value={entered[field.name] ?? ""}
            fault={faultOf(faults, field.name)}
            onChange={(value) => setEntered((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        <div className="dialog-foot">
          <span className="dim">{foot}</span>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            className={danger ? "danger" : undefined}
            variant={danger ? "default" : "filled"}
            disabled={sending.isPending}
          >
            {typeof submit === "string" ? submit : submit(entered)}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function firstOf({ first, kind }: Field): string | readonly string[] {
  return first ?? (kind === "ticks" ? [] : "");
}

/** The fault of a member, or of an item of it. */
function faultOf(faults: ReadonlyMap<string, string>, name: string): string | undefined {
  const place = name.replaceAll(".", "/");
  return [...faults].find(([at]) => at === place || at.startsWith(`${place}/`))?.[1];
}

interface FieldViewProps {
  readonly field: Field;
  readonly value: string | readonly string[];
  readonly fault: string | undefined;
  readonly onChange: (value: string | readonly string[]) => void;
}

function FieldView({ field, value, fault, onChange }: FieldViewProps) {
  const { name, label, help, kind = "text", optional = false, placeholder } = field;
  if (field.render !== undefined) return field.render(typeof value === "string" ? [] : value, onChange);
  const shared = { name, error: fault, description: help, placeholder, "data-autofocus": undefined };
  const text = typeof value === "string" ? value : "";
  const words = optional ? `${label} (optional)` : label;
  if (kind === "choice") return <Choice field={field} value={text} fault={fault} onChange={onChange} />;
  if (kind === "ticks")
    return <Ticks field={field} value={typeof value === "string" ? [] : value} fault={fault} onChange={onChange} />;
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
      label={words}
      value={text}
      autoComplete="off"
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

const pairOf = (one: string | readonly [string, string]) =>
  typeof one === "string" ? ([one, inWords(one)] as const) : one;

function Choice({
  field: { name, label, help, values = [] },
  value,
  fault,
  onChange,
}: FieldViewProps & { readonly value: string }) {
  const id = useElementId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {help && <p className="help">{help}</p>}
      <select id={id} name={name} className="select" value={value} onChange={({ target }) => onChange(target.value)}>
        {values.map(pairOf).map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
      {fault && <p className="field-error">{fault}</p>}
    </div>
  );
}

function Ticks({
  field: { name, label, help, values = [] },
  value,
  fault,
  onChange,
}: FieldViewProps & { readonly value: readonly string[] }) {
  const change = (one: string, checked: boolean) =>
    onChange(checked ? [...value, one] : value.filter((each) => each !== one));
  return (
    <fieldset className="field">
      <legend className="group-label">
        {label} <span className="help">{value.length} chosen</span>
      </legend>
      {help && <p className="help">{help}</p>}
      <div className="ticks">
        {values.map(pairOf).map(([one, words]) => (
          <Checkbox
            key={one}
            name={name}
            label={words}
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
