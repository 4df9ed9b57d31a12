import { Fragment, type ReactNode, useEffect } from "react";
import { useMay } from "../session/caller.ts";
import { addressWith, useAddress } from "./address.ts";
import { Contained } from "./contained.tsx";
import { Icon } from "./icons.tsx";
import { Go } from "./values.tsx";

interface PageHeadProps {
  readonly title: string;
  /** Above the title: where the page belongs. */
  readonly crumbs?: ReactNode;
  /** Behind the title. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
}

/** Title, what belongs to it, and the actions of a page. */
export function PageHead({ title, crumbs, note, actions }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Brokerage`;
  }, [title]);
  return (
    <header className="page-head">
      <div className="titles">
        {crumbs && <div className="crumbs">{crumbs}</div>}
        <div className="title-line">
          <h1>{title}</h1>
          {note}
        </div>
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  );
}

/** The keys that a page knows, and what each does. */
export function KeysLine({ keys }: { readonly keys: readonly (readonly [keys: readonly string[], what: string])[] }) {
  return (
    <span className="chips keys-line dim">
      {keys.map(([pressed, what]) => (
        <span key={what} className="with-icon">
          {pressed.map((key) => (
            <kbd key={key}>{key}</kbd>
          ))}
          {what}
        </span>
      ))}
    </span>
  );
}

/** The list that an item belongs to, in front of its identifier. */
export function Crumb({
  to,
  name,
  children,
}: {
  readonly to: string;
  readonly name: string;
  readonly children?: ReactNode;
}) {
  return (
    <>
      <Go to={to}>{name}</Go> <span>/</span> {children}
    </>
  );
}

/** Names and values next to each other under a title. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Names and values below each other. */
export function Pairs({ pairs }: { readonly pairs: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="pairs">
      {pairs.map(([name, value]) => (
        <PairRow key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function PairRow({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value === null || value === "" ? <span className="faint">–</span> : value}</dd>
    </>
  );
}

interface PanelProps {
  readonly title?: string;
  readonly note?: ReactNode;
  readonly side?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page with its own title. */
export function Panel({ title, note, side, children }: PanelProps) {
  return (
    <section className="panel">
      {title && (
        <header>
          <h2>{title}</h2>
          {note && <span className="dim">{note}</span>}
          {side && <span className="aside">{side}</span>}
        </header>
      )}
      <Contained>{children}</Contained>
    </section>
  );
}

/** A part of an item: its name in the address, its title, the scope that reading it needs, and what it shows. */
export interface Part {
  readonly value: string;
  readonly name: string;
  readonly scope?: string;
  readonly content: ReactNode;
}

/** The parts of an item that the person may read, one of which is shown: the first one until another is opened. */
export function Parts({ address, parts }: { readonly address: string; readonly parts: readonly Part[] }) {
  const may = useMay();
  const [search] = useAddress();
  const open = parts.filter(({ scope }) => scope === undefined || may(scope));
  const shown = open.find(({ value }) => value === search["tab"]) ?? open[0];
  return (
    <Panel>
      <nav className="tabs" aria-label="Parts">
        {open.map(({ value, name }) => (
          <Go key={value} to={addressWith(address, { tab: value })} current={value === shown?.value}>
            {name}
          </Go>
        ))}
      </nav>
      <Fragment key={shown?.value}>{shown?.content}</Fragment>
    </Panel>
  );
}

/** The head of an opened item with the button that closes it. */
export function OpenedHead({
  title,
  onClose,
  actions,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly actions?: ReactNode;
}) {
  return (
    <div className="opened-head">
      <button type="button" className="back-to-list" aria-label="Back to the list" onClick={onClose}>
        <Icon name="back" />
      </button>
      <h2>{title}</h2>
      <div className="actions">
        {actions}
        <button type="button" className="plain quiet" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
    </div>
  );
}

/** JSON as text. Nothing of it is ever taken for markup. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
    <section className="code" tabIndex={0} aria-label={label}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}
