import { Button, Checkbox, Modal } from "@mantine/core";
import { type FocusEvent, type ReactNode, useRef, useState } from "react";
import { useCommand } from "../api/data.ts";
import type { IconName } from "./icon-paths.ts";
import { Icon } from "./icons.tsx";
import { saveFile } from "./save-file.ts";
import { ErrorNotice } from "./states-of-page.tsx";
import { Mark } from "./status.tsx";

interface ActionProps {
  readonly word: string;
  readonly icon?: IconName;
  readonly primary?: boolean;
  /** The key that does the same. */
  readonly shortcut?: string;
  readonly dialog: (close: () => void) => ReactNode;
}

/** A button that opens a dialog. */
export function ActionButton({ word, icon, primary = false, shortcut, dialog }: ActionProps) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button
        variant={primary ? "filled" : "default"}
        leftSection={icon && <Icon name={icon} small />}
        rightSection={shortcut && <kbd>{shortcut}</kbd>}
        onClick={() => setOpened(true)}
      >
        {word}
      </Button>
      {opened && dialog(() => setOpened(false))}
    </>
  );
}

interface MoreProps {
  readonly actions: readonly { readonly word: string; readonly dialog: ActionProps["dialog"] }[];
}

/** The less frequent actions of an item. */
export function MoreMenu({ actions }: MoreProps) {
  const [shown, setShown] = useState(false);
  const [opened, setOpened] = useState<string>();
  const place = useRef<HTMLDivElement>(null);
  if (actions.length === 0) return null;
  const leave = ({ relatedTarget }: FocusEvent) => {
    if (!place.current?.contains(relatedTarget)) setShown(false);
  };
  return (
    <div
      className="more"
      role="toolbar"
      ref={place}
      onBlur={leave}
      onKeyDown={({ key }) => {
        if (key === "Escape") setShown(false);
      }}
    >
      <Button
        variant="default"
        aria-expanded={shown}
        rightSection={<Icon name="down" small />}
        onClick={() => setShown(!shown)}
      >
        More
      </Button>
      {shown && (
        <div className="more-menu">
          {actions.map(({ word }) => (
            <button
              key={word}
              type="button"
              onClick={() => {
                setOpened(word);
                setShown(false);
              }}
            >
              {word}
            </button>
          ))}
        </div>
      )}
      {actions.find(({ word }) => word === opened)?.dialog(() => setOpened(undefined))}
    </div>
  );
}

interface ConfirmProps<Out> {
  readonly title: string;
  readonly text: ReactNode;
  readonly word: string;
  readonly danger?: boolean;
  readonly run: (key: string) => Promise<Out>;
  readonly onDone?: (answer: Out) => void;
  readonly onClose: () => void;
}

/** Asks before a command, and shows why it was refused. */
export function ConfirmDialog<Out>({ title, text, word, danger = false, run, onDone, onClose }: ConfirmProps<Out>) {
  const sending = useCommand((_: string, key) => run(key));
  const send = () =>
    sending.mutate(title, {
      onSuccess: (answer) => {
        onClose();
        onDone?.(answer);
      },
    });
  return (
    <Modal opened onClose={onClose} title={title} size={480} centered={false}>
      <div className="form">
        {sending.error !== null && <ErrorNotice error={sending.error} />}
        <p>{text}</p>
        <div className="dialog-foot">
          <span />
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            className={danger ? "danger" : undefined}
            variant={danger ? "default" : "filled"}
            disabled={sending.isPending}
            onClick={send}
          >
            {word}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

interface SecretProps {
  readonly title: string;
  /** Name and value of what is shown; the last one is the secret. */
  readonly values: readonly (readonly [label: string, value: string])[];
  /** Lines of the file that can be downloaded. */
  readonly file: { readonly name: string; readonly lines: readonly string[] };
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

/** A secret, once. It closes by its button alone, after it was copied into a file or said to be stored. */
export function SecretDialog({ title, values, file, children, onClose }: SecretProps) {
  const [stored, setStored] = useState(false);
  const download = () => {
    saveFile(file.name, "text/plain", `${file.lines.join("\n")}\n`);
    setStored(true);
  };
  return (
    <Modal
      opened
      onClose={() => undefined}
      title={title}
      size={648}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <div className="form">
        <div className="notice warning">
          <Mark shape="triangle" tone="warn" />
          <p>
            <strong>Copy the secret now.</strong> It cannot be shown again.
          </p>
        </div>
        {values.map(([label, value]) => (
          <CopyBox key={label} label={label} value={value} />
        ))}
        {children}
        <div className="dialog-foot">
          <Checkbox
            label="I have stored the secret"
            checked={stored}
            onChange={({ currentTarget }) => setStored(currentTarget.checked)}
          />
          <Button variant="default" leftSection={<Icon name="save" small />} onClick={download}>
            Download {file.name}
          </Button>
          <Button disabled={!stored} onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Modal>
  );
}

function CopyBox({ label, value }: { readonly label: string; readonly value: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <div className="field">
      <span className="group-label">{label}</span>
      <div className="copy-box">
        <code>{value}</code>
        <button
          type="button"
          aria-label={`Copy ${label.toLowerCase()}`}
          onClick={() => void navigator.clipboard.writeText(value).then(() => setCopied(true))}
        >
          <Icon name={copied ? "check" : "copy"} small />
          {copied ? "Copied" : "Copy"}
        </button>
      </div>
    </div>
  );
}
