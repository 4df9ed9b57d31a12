/** The shape in front of the word of a state. */
export type Shape = "tick" | "ring" | "half" | "triangle" | "octagon" | "barred";

/** Colour of a shape. */
export type Tone = "ok" | "accent" | "warn" | "bad" | "text-3";

const table: readonly (readonly [Shape, Tone, string])[] = [
  [
    "tick",
    "ok",
    "completed succeeded active enabled normal verified done filled open_market applied live resolved intact",
  ],
  ["ring", "accent", "pending waiting invited open running unverified"],
  ["half", "accent", "approved processing taken proposed"],
  ["half", "warn", "retrying failing unknown close_only expired paused deferred"],
  ["triangle", "warn", "margin_call stale needs_attention halted"],
  ["octagon", "bad", "stop_out rejected failed returned exhausted auto_disabled refused broken"],
  ["barred", "text-3", "cancelled disabled revoked closed suspended ended none"],
];

const byState = new Map(
  table.flatMap(([shape, tone, states]) => states.split(" ").map((state) => [state, { shape, tone }] as const)),
);

/** Shape and tone of a state; an unknown one is quiet. */
export function lookOf(state: string): { readonly shape: Shape; readonly tone: Tone } {
  return byState.get(state) ?? { shape: "ring", tone: "text-3" };
}
