import { Modal } from "@mantine/core";
import { Pairs } from "../parts/page.tsx";
import { navigation } from "./navigation.ts";

const keys: readonly (readonly [string, string])[] = [
  ["/", "Search"],
  ["j k", "Next and previous row"],
  ["Enter", "Open"],
  ["Esc", "Close"],
  ["a, Enter", "Approve"],
  ["r", "Reject; on a delivery, retry"],
  ["c", "Copy the request as curl"],
  ["?", "This list"],
];

/** The keys of the application. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  const pages = navigation.flatMap(({ entries }) => entries).map(({ key, name }) => [`g ${key}`, name] as const);
  return (
    <Modal opened onClose={onClose} title="Keys" size={480}>
      <Pairs pairs={[...keys, ...pages]} />
    </Modal>
  );
}
