import { type IconName, iconPaths } from "./icon-paths.ts";

/** A drawing of 16 pixels. It always stands next to a word, or in a control with a label, so readers skip it. */
export function Icon({ name, small = false }: { readonly name: IconName; readonly small?: boolean }) {
  return (
    <svg className={small ? "icon small" : "icon"} viewBox="0 0 16 16" aria-hidden="true">
      <path d={iconPaths[name]} />
    </svg>
  );
}
