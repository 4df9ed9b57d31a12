import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { HttpProblem } from "../../shared/http/problem.ts";
import { listClients } from "../../shared/routes/clients.ts";
import { page as pageSchema } from "../../shared/schema/fields.ts";
import { memberOrder } from "../../shared/schema/member-order.ts";
import type { Page } from "../../shared/table/list.ts";

const base = "https://api.test.example/v2";
const reply = pageSchema(z.object({ id: z.string() }));

beforeAll(() => {
  process.env["PUBLIC_BASE_URL"] = base;
});

function place(query: Record<string, string> = {}) {
  return { path: "/v2/clients", query, order: memberOrder(reply) };
}

const nothing: Page<{ id: string }> = {
  ...{ items: [], sorts: [], direction: "next" },
  ...{ next: undefined, prev: undefined },
};
const onward = { direction: "next", position: "01B", inclusive: false } as const;
const back = { direction: "prev", position: "01A", inclusive: true } as const;

interface Links {
  readonly [relation: string]: { readonly href: string };
}

function shown(query: Record<string, string>, page: Partial<Page<{ id: string }>>) {
  const answer = pageReply(place(query), { ...nothing, ...page }, (item) => item);
  const body = JSON.parse(answer.body) as { data: unknown[]; page: object; _links: Links };
  return { ...answer, body, links: body._links };
}

/** The relations of a Link header (RFC 8288) with their addresses. */
function linkHeader(text: string | undefined): Record<string, string> {
  const found = [...(text ?? "").matchAll(/<([^>]*)>; rel="(\w+)"/g)];
  return Object.fromEntries(found.map(([, href = "", relation = ""]) => [relation, href]));
}

describe("a page", () => {
  it("without items is a list without next and prev", () => {
    const { status, body, links } = shown({}, {});
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: "list", data: [], page: { limit: 25, has_more: false } });
    expect(Object.keys(links).toSorted()).toEqual(["first", "self"]);
  });

  it("has next exactly when there is more, and prev exactly when it is not the first", () => {
    expect(shown({}, { next: onward }).body).toMatchObject({ page: { has_more: true } });
    expect(Object.keys(shown({}, { next: onward }).links).toSorted()).toEqual(["first", "next", "self"]);
    expect(Object.keys(shown({}, { prev: back }).links).toSorted()).toEqual(["first", "prev", "self"]);
  });

  it("has absolute links on the configured address that carry every filter and the limit", () => {
    const { links } = shown({ limit: "2", sort: "created_at" }, { next: onward, prev: back });
    for (const relation of ["self", "first", "next", "prev"]) {
      const address = new URL(links[relation]?.href ?? "");
      expect(address.href.startsWith(`${base}/clients?`)).toBe(true);
      expect(address.searchParams.get("limit")).toBe("2");
      expect(address.searchParams.get("sort")).toBe("created_at");
      expect(address.searchParams.has("cursor")).toBe(relation === "next" || relation === "prev");
    }
  });

  it("has the same links in its Link header", () => {
    const { headers, links } = shown({ limit: "2" }, { next: onward, prev: back });
    expect(linkHeader(headers["Link"])).toEqual({
      first: links["first"]?.href,
      next: links["next"]?.href,
      prev: links["prev"]?.href,
    });
  });

  it("leads by next and prev to the pages around it, and by self to itself", () => {
    const { links } = shown({ limit: "2" }, { next: onward, prev: back });
    const follow = (relation: string) =>
      pageRequest(place(Object.fromEntries(new URL(links[relation]?.href ?? "").searchParams)), "-created_at");
    expect(follow("next")).toEqual({ limit: 2, descending: true, cursor: onward });
    expect(follow("prev")).toEqual({ limit: 2, descending: true, cursor: back });
    const cursor = new URL(links["next"]?.href ?? "").searchParams.get("cursor") ?? "";
    expect(new URL(shown({ limit: "2", cursor }, {}).links["self"]?.href ?? "").searchParams.get("cursor")).toBe(
      cursor,
    );
    expect(new URL(shown({ cursor }, {}).links["self"]?.href ?? "").searchParams.get("cursor")).toBe(cursor);
    expect(new URL(shown({ limit: "2", cursor }, {}).links["first"]?.href ?? "").searchParams.has("cursor")).toBe(
      false,
    );
  });

  it("shows its items by the schema of the list", () => {
    const { body } = shown({}, { items: [{ id: "a", tenant_id: "brk_1" } as { id: string }] });
    expect(body.data).toEqual([{ id: "a" }]);
  });
});

describe("a request for a page", () => {
  it("has 25 items in the list's default order", () => {
    expect(pageRequest(place(), "-created_at")).toEqual({ limit: 25, descending: true, cursor: undefined });
    expect(pageRequest(place({ sort: "created_at", limit: "7" }), "-created_at")).toMatchObject({
      limit: 7,
      descending: false,
    });
    expect(pageRequest(place(), "sequence").descending).toBe(false);
  });

  it("with a cursor of another list is refused and names the parameter", () => {
    const cursor = new URL(shown({}, { next: onward }).links["next"]?.href ?? "").searchParams.get("cursor") ?? "";
    for (const query of [{ cursor: "nonsense" }, { cursor, sort: "created_at" }]) {
      try {
        pageRequest(place(query), "-created_at");
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(HttpProblem);
        expect(error).toMatchObject({ code: "invalid_cursor", details: { errors: [{ parameter: "cursor" }] } });
      }
    }
  });

  it("is declared with the refusal in its row", () => {
    expect(listClients.refusals).toContain("invalid_cursor");
  });
});
