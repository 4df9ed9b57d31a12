import createClient from "openapi-fetch";
import type { paths } from "./api.ts";

const api = createClient<paths>({ baseUrl: "https://api.brokerage.example/v2" });

/** Every statement here is against the document: the compiler must refuse each of them. */
export async function misuse(): Promise<void> {
  await api.GET("/nothing");
  await api.POST("/clients", { body: { first_name: "Ana" } });
  await api.GET("/transactions", { params: { query: { status: ["finished"] } } });
  const amount: number | undefined = (await api.GET("/me")).data?.tenant_id;
  await api.POST("/transactions/deposit", { body: { account_id: amount, amount: "1.00" } });
}
