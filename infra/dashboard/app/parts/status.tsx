import { inWords } from "./format.ts";
import { lookOf, type Shape, type Tone } from "./states.ts";

/** A state as a shape and its word; the word is coloured only when the state is bad. */
export function Status({ state, word }: { readonly state: string; readonly word?: string }) {
  const { shape, tone } = lookOf(state);
  return (
    <span className="status" title={state}>
      <Mark shape={shape} tone={tone} />
      <span className={tone === "bad" ? "bad" : undefined}>{word ?? inWords(state)}</span>
    </span>
  );
}

/** The shape alone, for a place where the word stands elsewhere. */
export function Mark({ shape, tone }: { readonly shape: Shape; readonly tone: Tone }) {
  return (
    <svg viewBox="0 0 14 14" width="14" height="14" className={tone} aria-hidden="true">
      {drawings[shape]}
    </svg>
  );
}

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.75 } as const;
const cut = { fill: "none", stroke: "var(--surface)", strokeWidth: 1.5, strokeLinecap: "round" } as const;

const drawings: Readonly<Record<Shape, React.ReactNode>> = {
  tick: <path d="M2 7.5 5.5 11 12 3.5" {...line} strokeLinecap="round" strokeLinejoin="round" />,
  ring: <circle cx="7" cy="7" r="4.75" {...line} />,
  half: (
    <>
      <circle cx="7" cy="7" r="4.75" {...line} />
      <path d="M7 2.25a4.75 4.75 0 0 1 0 9.5z" fill="currentColor" />
    </>
  ),
  triangle: (
    <>
      <path d="M7 1.5 13 12.5H1z" fill="currentColor" strokeLinejoin="round" />
      <path d="M7 5.5v3M7 10.5v.01" {...cut} />
    </>
  ),
  octagon: (
    <>
      <path d="M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z" fill="currentColor" />
      <path d="m5 5 4 4M9 5 5 9" {...cut} />
    </>
  ),
  barred: (
    <>
      <circle cx="7" cy="7" r="4.75" {...line} />
      <path d="M4 10 10 4" {...line} />
    </>
  ),
};
