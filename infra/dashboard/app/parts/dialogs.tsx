import { Button, Checkbox, Modal } from "@mantine/core";
import { type FocusEvent, type ReactNode, useRef, useState } from "react";
import { isSending, useCommand } from "../api/data.ts";
import { announce, type Dialog, openDialog, useHeldWhileSending, useIsShown } from "./dialog-host.tsx";
import type { IconName } from "./icon-paths.ts";
import { Icon } from "./icons.tsx";
import { saveFile } from "./save-file.ts";
import { CommandError } from "./states-of-page.tsx";
import { Mark } from "./status.tsx";

interface ActionProps {
  readonly word: string;
  readonly icon?: IconName;
  readonly primary?: boolean;
  readonly dialog: Dialog;
}

/** A button that opens a dialog. */
export function ActionButton({ word, icon, primary = false, dialog }: ActionProps) {
  return (
    <Button
      variant={primary ? "filled" : "default"}
      leftSection={icon && <Icon name={icon} small />}
      onClick={() => openDialog(dialog)}
    >
      {word}
    </Button>
  );
}

interface MoreProps {
  readonly actions: readonly { readonly word: string; readonly dialog: Dialog }[];
}

/** The less frequent actions of an item. */
export function MoreMenu({ actions }: MoreProps) {
  const [shown, setShown] = useState(false);
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
          {actions.map(({ word, dialog }) => (
            <button
              key={word}
              type="button"
              onClick={() => {
                openDialog(dialog);
                setShown(false);
              }}
            >
              {word}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

interface FrameProps {
  readonly title: string;
  readonly wide?: boolean;
  /** A command is under way: nothing closes the dialog before the service has answered. */
  readonly sending: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The frame of a dialog that sends a command. Its first field has the focus. */
export function CommandFrame({ title, wide = false, sending, onClose, children }: FrameProps) {
  useHeldWhileSending();
  return (
    <Modal
      opened={useIsShown()}
      onClose={() => {
        if (!isSending()) onClose();
      }}
      title={title}
      size={wide ? 648 : 480}
      centered={false}
      withCloseButton={!sending}
    >
      {children}
    </Modal>
  );
}

interface FootProps {
  readonly word: string;
  readonly note?: ReactNode;
  readonly danger?: boolean;
  readonly sending: boolean;
  readonly disabled?: boolean;
  readonly focused?: boolean;
  readonly onClose: () => void;
  /** Without it the button sends its form. */
  readonly onSend?: () => void;
}

/** The buttons of a dialog that sends a command. */
export function CommandFoot(props: FootProps) {
  const { word, note, danger = false, sending, disabled = false, focused = false, onClose, onSend } = props;
  return (
    <div className="dialog-foot">
      <span className="dim" role="status">
        {sending ? "Sending…" : note}
      </span>
      <Button variant="default" disabled={sending} onClick={() => !isSending() && onClose()}>
        Cancel
      </Button>
      <Button
        type={onSend === undefined ? "submit" : "button"}
        className={danger ? "danger" : undefined}
        variant={danger ? "default" : "filled"}
        disabled={sending || disabled}
        data-autofocus={focused || undefined}
        onClick={onSend}
      >
        {word}
      </Button>
    </div>
  );
}

/** Name of a command on a version: it has one idempotency key until it is answered. */
export function commandName(title: string, version: number | undefined): string {
  return version === undefined ? title : `${title} ${version}`;
}

interface ConfirmProps<Out> {
  readonly title: string;
  readonly text: ReactNode;
  /** Further content to look at before the command is sent. */
  readonly more?: ReactNode;
  readonly word: string;
  readonly danger?: boolean;
  /** The version of what is changed: the same command for another one is another command. */
  readonly version?: number;
  readonly run: (key: string) => Promise<Out>;
  readonly onDone?: ((answer: Out) => void) | undefined;
  readonly onClose: () => void;
}

/** Asks before a command, and shows why it was refused. */
export function ConfirmDialog<Out>(props: ConfirmProps<Out>) {
  const { title, text, more, word, danger = false, version, run, onDone, onClose } = props;
  const sending = useCommand(commandName(title, version), (_: string, key) => run(key));
  const send = () => {
    if (isSending()) return;
    sending.mutate(title, {
      onSuccess: (answer) => {
        onClose();
        announce(`${title}: done.`);
        onDone?.(answer);
      },
    });
  };
  return (
    <CommandFrame title={title} sending={sending.isPending} onClose={onClose}>
      <div className="form">
        {sending.error !== null && <CommandError error={sending.error} />}
        <p>{text}</p>
        {more}
        <CommandFoot word={word} danger={danger} focused sending={sending.isPending} onClose={onClose} onSend={send} />
      </div>
    </CommandFrame>
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
