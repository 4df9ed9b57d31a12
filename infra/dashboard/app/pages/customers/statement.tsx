import { Button } from "@mantine/core";
import { daysAfter } from "../../../../../shared/calendar.ts";
import { readCsv } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useAddress, useId } from "../../parts/address.ts";
import { Filters } from "../../parts/filters.tsx";
import { inWords, today } from "../../parts/format.ts";
import { Crumb, PageHead } from "../../parts/page.tsx";
import { SaveCsv } from "../../parts/save-csv.tsx";
import { Failed } from "../../parts/states-of-page.tsx";
import { Id, Money } from "../../parts/values.tsx";

type Statement = Schemas["Statement"];

const filters = [
  { name: "from", label: "From", day: true },
  { name: "to", label: "To", day: true },
] as const;

/** The statement of an account, made for a sheet of A4: the browser prints it or saves it as PDF. */
export function StatementPage() {
  const id = useId();
  const [search] = useAddress();
  const from = search["from"] ?? daysAfter(today(), -30);
  const to = search["to"] ?? daysAfter(today(), -1);
  const params = { path: { id }, query: { from, to } };
  const { data, error, refetch } = useResource("/accounts/{id}/statement", params);
  return (
    <>
      <div className="not-printed">
        <PageHead
          title="Statement"
          crumbs={
            <Crumb to={`/accounts/${id}`} name="Account">
              <Id id={id} />
            </Crumb>
          }
          note={<span className="dim">{`${from} to ${to}`}</span>}
          actions={
            <>
              <SaveCsv
                name={`statement-${id}-${from}-${to}.csv`}
                read={() => readCsv("/accounts/{id}/statement", params)}
                disabled={data === undefined}
              />
              <Button disabled={data === undefined} onClick={() => window.print()}>
                Print
              </Button>
            </>
          }
        />
        <Filters filters={filters} />
      </div>
      {error && data === undefined && <Failed error={error} again={() => void refetch()} />}
      {data && <Sheet statement={data} />}
    </>
  );
}

function Sheet({ statement }: { readonly statement: Statement }) {
  const { figures, account, client, brokerage, final, held, content_sha256 } = statement;
  const { opening, closing, entries, totals, currency } = figures;
  const contact = [brokerage.registration_number, brokerage.licence, brokerage.contact, brokerage.website];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a sheet that is wider than the page is scrolled by keys
    <article className="sheet" aria-label="Statement" tabIndex={0}>
      <header>
        <div>
          <strong>{brokerage.name ?? "Statement"}</strong>
          <p className="lines">{brokerage.address}</p>
          <p className="dim">{contact.filter((one) => one !== null).join(" · ")}</p>
        </div>
        <div>
          <strong>{client?.name}</strong>
          <p className="lines">{client?.address.join("\n")}</p>
        </div>
      </header>
      <p>
        {`Account ${account.number} in ${currency}, ${figures.from} to ${figures.to} (${figures.starts_at} to ` +
          `${figures.ends_at}). ${final ? "Final." : "The last day is not closed yet."}`}
        {held !== null && ` Held: ${held} ${currency}.`}
      </p>
      <table>
        <caption className="hidden-text">Entries</caption>
        <thead>
          <tr>
            {["No.", "Time (UTC)", "Entry"].map((head) => (
              <th key={head}>{head}</th>
            ))}
            {["Amount", "Balance", "Credit"].map((head) => (
              <th key={head} className="right">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Line name="Opening balance" amounts={["", opening.balance, opening.credit]} />
          {entries.map((entry) => (
            <tr key={entry.version}>
              <td>{entry.version}</td>
              <td>{entry.created_at.slice(0, 19).replace("T", " ")}</td>
              <td>{inWords(entry.kind) + (entry.moves === "credit" ? " (credit)" : "")}</td>
              {[entry.amount, entry.balance_after, entry.credit_after].map((amount, place) => (
                <td key={["amount", "balance", "credit"][place]} className="right">
                  <Money amount={amount} />
                </td>
              ))}
            </tr>
          ))}
          <Line name="Closing balance" amounts={["", closing.balance, closing.credit]} />
          {totals.map(({ kind, moves, count, amount }) => (
            <Line
              key={kind + moves}
              name={`${inWords(kind)}${moves === "credit" ? " (credit)" : ""}: ${count}`}
              amounts={[amount, "", ""]}
            />
          ))}
        </tbody>
      </table>
      <footer className="dim">SHA-256 of the figures: {content_sha256}</footer>
    </article>
  );
}

/** A line of sums. */
function Line({ name, amounts }: { readonly name: string; readonly amounts: readonly string[] }) {
  return (
    <tr className="sheet-sum">
      <td />
      <td />
      <td>{name}</td>
      {amounts.map((amount, place) => (
        <td key={["amount", "balance", "credit"][place]} className="right">
          {amount === "" ? null : <Money amount={amount} />}
        </td>
      ))}
    </tr>
  );
}
