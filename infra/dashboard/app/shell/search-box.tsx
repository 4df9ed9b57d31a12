import { useRouter } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../parts/icons.tsx";
import { useKeys } from "../parts/keys.ts";
import { Go } from "../parts/values.tsx";
import { useMay } from "../session/caller.ts";
import { type Finding, find, findById, suggestions } from "./find.ts";

/** How long nothing is typed before clients are looked for, in milliseconds. */
const typingPauseMs = 200;

/**
 * One box for any identifier, email address, account number, login or reference, and for the beginning of a client's
 * name, which is looked for while it is typed. One finding is opened at once.
 */
export function SearchBox() {
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Finding[]>();
  const [searched, setSearched] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const { history } = useRouter();
  const may = useMay();
  useKeys({ "/": () => input.current?.focus() });
  // Findings of a search that was closed, changed or left since are of no use.
  const current = useRef(0);
  useEffect(
    () => () => {
      current.current += 1;
    },
    [],
  );
  useSuggestions(text, may("clients:read"), current, setFound);
  const close = () => {
    current.current += 1;
    setFound(undefined);
    setText("");
  };
  const search = async (event: FormEvent) => {
    event.preventDefault();
    const wanted = text.trim();
    if (wanted === "") return;
    current.current += 1;
    const own = current.current;
    const findings = await find(wanted, may);
    if (own !== current.current) return;
    const [only, another] = findings;
    if (only === undefined || another !== undefined) {
      setSearched(true);
      return setFound(findings);
    }
    close();
    input.current?.blur();
    history.push(only.to);
  };
  return (
    <search>
      <form className="search" onSubmit={(event) => void search(event)}>
        <Icon name="search" />
        <input
          ref={input}
          aria-label="Find by name, id, email, phone, account number, login or reference"
          placeholder="Find by name, email, phone, account, id"
          value={text}
          onBlur={() => {
            current.current += 1;
          }}
          onChange={({ target }) => {
            current.current += 1;
            setText(target.value);
            setSearched(false);
            const byId = findById(target.value.trim());
            setFound(byId && [byId]);
          }}
          onKeyDown={({ key }) => {
            if (key !== "Escape") return;
            close();
            input.current?.blur();
          }}
        />
        <kbd>/</kbd>
        {found && <Found found={found} none={searched ? noneAtAll : noClient} onGo={close} />}
      </form>
    </search>
  );
}

/** Looks for clients while a text is typed. Answers after the text was changed or left are dropped. */
function useSuggestions(
  text: string,
  maySearch: boolean,
  current: { readonly current: number },
  show: (found: readonly Finding[] | undefined) => void,
): void {
  useEffect(() => {
    const own = current.current;
    const wanted = text.trim();
    if (!maySearch || wanted.length < 2 || findById(wanted) !== undefined) return undefined;
    const timer = setTimeout(async () => {
      // The list is a help while typing: where it fails, the search itself says so.
      const clients = await suggestions(wanted).catch(() => undefined);
      if (own === current.current) show(clients);
    }, typingPauseMs);
    return () => clearTimeout(timer);
  }, [text, maySearch, current, show]);
}

const noneAtAll = "Nothing has this name, id, address, number, login or reference.";
const noClient = "No client begins with this. Enter looks for account numbers, logins and references too.";

interface FoundProps {
  readonly found: readonly Finding[];
  /** Words in place of findings. */
  readonly none: string;
  readonly onGo: () => void;
}

function Found({ found, none, onGo }: FoundProps) {
  return (
    <div className="found">
      {found.length === 0 && <p role="status">{none}</p>}
      {found.map(({ to, name, kind }) => (
        <Go key={to} to={to} onGo={onGo}>
          <span>{name}</span>
          <span className="dim">{kind}</span>
        </Go>
      ))}
    </div>
  );
}
