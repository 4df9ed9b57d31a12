import type { Mutation } from "./mutations.ts";

/** Bugs that would lose or delay what connections of the stream are sent. */
export const streamMutations: readonly Mutation[] = [
  {
    name: "cursor before the post",
    file: "shared/stream/member.ts",
    edits: [
      [
        "      await this.postMembers(await this.membersOf(round, events));\n",
        "      const sending = this.membersOf(round, events);\n",
      ],
      ["round, reached);\n    }", "round, reached);\n      await this.postMembers(await sending);\n    }"],
    ],
    test: { file: "test/data/stream/deliver.test.ts", name: "that did not take a message gets it again" },
  },
  {
    name: "cursor behind the page that was read",
    file: "shared/stream/member.ts",
    edits: [["advanced(this.cursors, round, reached)", "advanced(this.cursors, round, round.to)"]],
    test: { file: "test/data/stream/exactly.test.ts", name: "a client that resumes has seen every event once" },
  },
  {
    name: "last look while hot",
    file: "shared/domain/stream/pace.ts",
    edits: [
      ["const isOver = look.began_ms > run.hot_until_ms;", "const isOver = look.began_ms > run.hot_until_ms - 1000;"],
    ],
    test: { file: "test/domain/stream/streaming.test.ts", name: "leaves no event between the last look and the first" },
  },
  {
    name: "last price of a burst dropped",
    file: "shared/domain/stream/slots.ts",
    edits: [
      [
        "if (last !== undefined && now < last.at_ms + interval) waiting = true;",
        "if (last !== undefined && now < last.at_ms + interval) continue;",
      ],
    ],
    test: {
      file: "test/domain/stream/streaming.test.ts",
      name: "quotes are sent at most so often to each subscription",
    },
  },
  {
    name: "posts awaited together",
    file: "shared/stream/set-run.ts",
    edits: [
      [
        "await Promise.race([Promise.all(serving), pause(Math.max(0, began_ms + limits.stream.batch_ms - nowMs()))]);",
        "await Promise.all(serving);",
      ],
    ],
    test: { file: "test/data/stream/deliver.test.ts", name: "that takes nothing is ended after five seconds" },
  },
  {
    name: "a connection counted for each line about its end",
    file: "shared/domain/usage/usage-count.ts",
    edits: [["&& this.isNew(connection_id)))", "))"]],
    test: { file: "test/domain/usage/usage-count.test.ts", name: "are counted once each, however often" },
  },
  {
    name: "ends of connections that were logged late left out",
    file: "shared/usage/requests.ts",
    edits: [["const isOver = hour.to_ms <= nowMs();", "const isOver = hour.to_ms > nowMs();"]],
    test: { file: "test/data/usage/collect.test.ts", name: "has each connection once" },
  },
  {
    name: "the end of a connection noted again when it is repeated",
    file: "shared/stream/membership.ts",
    edits: [["logConnection({ ended_at, ...connection });", "logConnection({ ...connection, ended_at });"]],
    test: { file: "test/data/stream/usage.test.ts", name: "dies at its write 1" },
  },
];
