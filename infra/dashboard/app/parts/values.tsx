import { useRouter } from "@tanstack/react-router";
import { type MouseEvent, type ReactNode, useContext, useState } from "react";
import { CallerContext } from "../session/caller.ts";
import { mayOpen } from "../shell/navigation.ts";
import { useClock } from "./clock.ts";
import { clockTime, dateOf, grouped, isNegative, isZero, relative, shortId, signed } from "./format.ts";
import { Icon } from "./icons.tsx";

interface GoProps {
  readonly to: string;
  readonly children: ReactNode;
  readonly className?: string;
  readonly current?: boolean;
  readonly label?: string;
  readonly onGo?: () => void;
}

/**
 * A link to an address of this application. The address is a plain one, so that it can be opened in a new tab. A page
 * that the person may not open is shown as text.
 */
export function Go({ to, children, className, current = false, label, onGo }: GoProps) {
  const { history } = useRouter();
  const caller = useContext(CallerContext);
  if (caller !== undefined && !mayOpen(to, caller.scopes)) return <span>{children}</span>;
  const go = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onGo?.();
    history.push(to);
  };
  return (
    <a href={to} onClick={go} className={className} aria-current={current ? "page" : undefined} aria-label={label}>
      {children}
    </a>
  );
}

/** An amount in its currency. The currency has a place of its own, so that the points of a column align. */
export function Money({ amount, currency }: { readonly amount: string; readonly currency?: string }) {
  return (
    <span className="amount" title={amount}>
      <span>{grouped(amount)}</span>
      {currency !== undefined && <span className="currency">{currency}</span>}
    </span>
  );
}

/** A profit or loss, with its sign. */
export function Profit({ amount }: { readonly amount: string }) {
  const tone = isZero(amount) ? undefined : isNegative(amount) ? "bad" : "ok";
  return (
    <span className={tone} title={amount}>
      {signed(amount)}
    </span>
  );
}

/** An identifier in short; a click copies all of it. */
export function Id({ id }: { readonly id: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(id).then(() => setCopied(true));
  };
  return (
    <button type="button" className="id" title={id} aria-label={`Copy ${shortId(id)}`} onClick={copy}>
      {shortId(id)}
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}

function exact(at: string): string {
  return `${dateOf(at)} ${at.slice(11, 23)} UTC`;
}

/** How long ago; the exact time on hover. */
export function Age({ at, none = "Never" }: { readonly at: string | null | undefined; readonly none?: string }) {
  const text = useClock((now) => (at == null ? none : relative(at, now)));
  return at == null ? (
    <span className="faint">{text}</span>
  ) : (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  );
}

/** How long something waits, without "ago". */
export function Waiting({ since }: { readonly since: string }) {
  const text = useClock((now) => relative(since, now).replace(/ ago$/, ""));
  return (
    <time dateTime={since} title={exact(since)}>
      {text}
    </time>
  );
}

/** The UTC clock of a log. */
export function Clock({ at }: { readonly at: string | null | undefined }) {
  const text = useClock((now) => (at == null ? "–" : clockTime(at, now)));
  return at == null ? (
    <span className="faint">{text}</span>
  ) : (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  );
}

/** A value that may be absent. */
export function Maybe({ value }: { readonly value: ReactNode }) {
  return value === null || value === undefined || value === "" ? <span className="faint">–</span> : value;
}

/** Text that a click copies, with its word. */
export function CopyText({ text, word }: { readonly text: string; readonly word: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      window.setTimeout(() => setCopied(false), 2000);
    });
  };
  return (
    <button type="button" className="plain" onClick={copy}>
      <Icon name={copied ? "check" : "copy"} small />
      {copied ? "Copied" : word}
    </button>
  );
}
