// A client that is written against types made from the OpenAPI document. It is only compiled.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8470" });

export async function newest(): Promise<string | undefined> {
  const { data, error } = await client.GET("/v1/runs", { params: { query: { limit: 1, state: "running" } } });
  if (error) throw new Error(`${error.title}: ${error.errors.map((one) => one.field).join()}`);
  return data.data[0]?.id;
}

export async function start(batch: components["schemas"]["BatchSpec"]): Promise<string> {
  const { data, error } = await client.POST("/v1/runs", {
    body: {
      name: "sort", model: { base: "base" }, algorithm: "grpo", steps: 3,
      task: { environment: "sort_digits" }, batch,
    },
  });
  if (error) throw new Error(error.detail);
  return "id" in data ? data.id : "a dry run";
}

export async function lastReward(run: string): Promise<number | null | undefined> {
  const { data } = await client.GET("/v1/runs/{run_id}/metrics", { params: { path: { run_id: run } } });
  return data?.series["reward"]?.at(-1)?.[1];
}
