import type { ReactNode } from "react";
import { useState } from "react";
import { command, post } from "../../api/client.ts";
import { useResource } from "../../api/data.ts";
import type { Schemas } from "../../api/types.ts";
import { useAddress } from "../../parts/address.ts";
import { ActionButton, ConfirmDialog } from "../../parts/dialogs.tsx";
import { FormDialog, textOf } from "../../parts/form-dialog.tsx";
import { grouped } from "../../parts/format.ts";
import { OpenedHead, PageHead, Pairs, Panel } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import { Age, Go, Id } from "../../parts/values.tsx";
import { useMay } from "../../session/caller.ts";

type Drive = Schemas["SandboxDrive"];
type Effects = Schemas["SandboxEffects"];

/** Simulated prices, trades and sample events, for tries without consequences. */
export function SandboxPage() {
  return (
    <>
      <PageHead title="Sandbox" note={<span className="dim">Prices and money are simulated here.</span>} />
      <Margin />
      <Prices />
      <Trades />
      <SampleEvents />
      <Reset />
    </>
  );
}

function Tool({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}) {
  return (
    <Panel title={title}>
      <p className="dim tool-text">{text}</p>
      {children}
    </Panel>
  );
}

function Margin() {
  const [drive, setDrive] = useState<Drive>();
  const [search] = useAddress();
  return (
    <Tool
      title="Drive an account to a margin level"
      text="Prices move until the level is reached: 40 causes a stop-out, 90 a margin call."
    >
      <ActionButton
        word="Drive…"
        primary
        dialog={(close) => (
          <FormDialog<Drive>
            title="Drive an account to a margin level"
            fields={[
              { name: "id", label: "Account id", placeholder: "acc_…", first: search["account_id"] ?? "" },
              { name: "margin_level", label: "Margin level in percent", placeholder: "40.00", first: "40.00" },
              { name: "symbol", label: "Symbol", optional: true, help: "Without it, that of the largest position." },
            ]}
            submit="Drive"
            run={(entered) => {
              const symbol = textOf(entered, "symbol");
              const body = { margin_level: textOf(entered, "margin_level") ?? "", ...(symbol && { symbol }) };
              return post("/sandbox/accounts/{id}/drive", { path: { id: textOf(entered, "id") ?? "" } }, body);
            }}
            onDone={setDrive}
            onClose={close}
          />
        )}
      />
      {drive && <Driven drive={drive} onClose={() => setDrive(undefined)} />}
    </Tool>
  );
}

function Driven({ drive, onClose }: { readonly drive: Drive; readonly onClose: () => void }) {
  const { account_id, reached_margin_level, before, after, price, events, effects } = drive;
  return (
    <div className="result">
      <OpenedHead title="What happened" onClose={onClose} />
      <Pairs
        pairs={[
          [
            "Account",
            <Go key="account" to={`/accounts/${account_id}`}>
              {account_id}
            </Go>,
          ],
          ["Margin status", <Status key="status" state={after.margin_status} />],
          ["Level reached", reached_margin_level === null ? null : `${grouped(reached_margin_level)}%`],
          ["Equity", `${grouped(before.equity)} → ${grouped(after.equity)} ${after.currency}`],
          ["Price", `${price.symbol} ${price.bid} / ${price.ask}`],
          ["Trades closed", effects.trades_closed.length],
          [
            "Events",
            <span key="events" className="chips">
              {events.map(({ id, type }) => (
                <Go key={id} to={`/events?open=${id}`}>
                  {type}
                </Go>
              ))}
            </span>,
          ],
        ]}
      />
    </div>
  );
}

function EffectsOf({ effects }: { readonly effects: Effects }) {
  return (
    <Pairs
      pairs={[
        ["Orders filled", effects.orders_filled.length],
        ["Orders ended", effects.orders_ended.length],
        ["Trades closed", effects.trades_closed.length],
        ["Accounts looked at", effects.accounts_evaluated.length],
      ]}
    />
  );
}

function Prices() {
  const [effects, setEffects] = useState<Effects>();
  return (
    <Tool title="Set a price" text="A frozen price stays; a walk moves by itself.">
      <ActionButton
        word="Set price…"
        dialog={(close) => (
          <FormDialog<Schemas["SandboxPrices"]>
            title="Set a price"
            fields={[
              { name: "symbol", label: "Symbol", first: "EURUSD" },
              { name: "bid", label: "Bid", optional: true, placeholder: "1.08000" },
              { name: "ask", label: "Ask", optional: true, placeholder: "1.08020" },
              { name: "mode", label: "Mode", kind: "choice", values: ["frozen", "walk"], first: "frozen" },
            ]}
            submit="Set"
            run={(entered) => {
              const given = ["symbol", "bid", "ask", "mode"].flatMap((name) =>
                textOf(entered, name) ? [[name, textOf(entered, name)]] : [],
              );
              return post("/sandbox/prices", {}, { prices: [Object.fromEntries(given)] });
            }}
            onDone={(prices) => setEffects(prices.effects)}
            onClose={close}
          />
        )}
      />
      {effects && <EffectsOf effects={effects} />}
    </Tool>
  );
}

function Trades() {
  const [trade, setTrade] = useState<Schemas["Trade"]>();
  return (
    <Tool title="Open a trade" text="At the price of now, on an account of the sandbox.">
      <ActionButton
        word="Open trade…"
        dialog={(close) => (
          <FormDialog<Schemas["Trade"]>
            title="Open a trade"
            fields={[
              { name: "account_id", label: "Account id", placeholder: "acc_…" },
              { name: "symbol", label: "Symbol", first: "EURUSD" },
              { name: "side", label: "Side", kind: "choice", values: ["buy", "sell"], first: "buy" },
              { name: "lots", label: "Lots", first: "1.00" },
            ]}
            submit="Open"
            run={(entered, key) =>
              command("POST", "/sandbox/trades", {
                key,
                body: Object.fromEntries(
                  ["account_id", "symbol", "side", "lots"].map((name) => [name, textOf(entered, name) ?? ""]),
                ),
              })
            }
            onDone={setTrade}
            onClose={close}
          />
        )}
      />
      {trade && (
        <p>
          Opened {trade.lots} lots of {trade.symbol} at {trade.open_price}.{" "}
          <Go to={`/accounts/${trade.account_id}`}>Account</Go>
        </p>
      )}
    </Tool>
  );
}

function SampleEvents() {
  const may = useMay();
  const { data: types } = useResource("/event_types", {}, { still: true, enabled: may("events:read") });
  const { data: endpoints } = useResource(
    "/webhook_endpoints",
    { query: { limit: 50 } },
    { enabled: may("webhooks:read") },
  );
  const [delivery, setDelivery] = useState<Schemas["WebhookDelivery"]>();
  const names = types?.data.map(({ type }) => [type, type] as const) ?? [];
  const places = endpoints?.data.map(({ id, url }) => [id, url] as const) ?? [];
  const [[firstPlace] = [""]] = places;
  return (
    <Tool title="Trigger a sample event" text="It is delivered to one endpoint, and nothing is changed.">
      {places.length === 0 ? (
        <Go to="/webhooks">Add an endpoint first</Go>
      ) : (
        <ActionButton
          word="Trigger…"
          dialog={(close) => (
            <FormDialog<Schemas["WebhookDelivery"]>
              title="Trigger a sample event"
              fields={[
                { name: "type", label: "Type", kind: "choice", values: names, first: names[0]?.[0] ?? "" },
                { name: "endpoint_id", label: "Endpoint", kind: "choice", values: places, first: firstPlace },
              ]}
              submit="Trigger"
              run={(entered, key) =>
                command("POST", "/sandbox/events/trigger", {
                  key,
                  body: { type: textOf(entered, "type"), endpoint_id: textOf(entered, "endpoint_id") },
                })
              }
              onDone={setDelivery}
              onClose={close}
            />
          )}
        />
      )}
      {delivery && (
        <p>
          <Go to={`/webhooks/${delivery.endpoint_id}?open=${delivery.id}`}>See its delivery</Go> <Id id={delivery.id} />
        </p>
      )}
    </Tool>
  );
}

function removedText({ clients, accounts, transactions }: Schemas["SandboxReset"]["removed"]): string {
  return `${clients} clients, ${accounts} accounts, ${transactions} transactions`;
}

function Reset() {
  const { data } = useResource("/sandbox/reset");
  const may = useMay();
  return (
    <Tool
      title="Reset"
      text="Removes clients with all their data, feed sources and changes to the market. The rest stays."
    >
      {data && (
        <Pairs
          pairs={[
            ["Last reset", <Age key="at" at={data.created_at} />],
            ["State", <Status key="state" state={data.status} />],
            ["Removed", removedText(data.removed)],
          ]}
        />
      )}
      {may("sandbox") && (
        <ActionButton
          word="Reset…"
          dialog={(close) => (
            <ConfirmDialog
              title="Reset the sandbox"
              text={
                "Every client with all their data, the feed sources and all changes to the market are removed. This " +
                "cannot be undone."
              }
              word="Reset"
              danger
              run={(key) => command("POST", "/sandbox/reset", { key })}
              onClose={close}
            />
          )}
        />
      )}
    </Tool>
  );
}
