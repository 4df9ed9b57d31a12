import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { Queue } from "../../infra/local/queues/queue.ts";
