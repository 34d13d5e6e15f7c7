// What an application written against the generated types looks like: `schema.ts` is made by the test.

import type { components, operations } from "./schema.js";

declare const Buffer: { from(text: string): { toString(encoding: string): string } };
declare const process: { env: Record<string, string | undefined>; exitCode: number };

type Schemas = components["schemas"];
type Json<Described> = Described extends { content: { "application/json": infer Body } } ? Body : never;
type Answer<Operation> = Operation extends { responses: { 201: infer Made } }
  ? Json<Made>
  : Operation extends { responses: { 200: infer Done } }
    ? Json<Done>
    : never;
type Body<Operation> = Operation extends { requestBody?: infer Given } ? Json<NonNullable<Given>> : never;

async function call<Name extends keyof operations>(
  _operation: Name,
  method: string,
  path: string,
  body?: Body<operations[Name]>,
): Promise<Answer<operations[Name]>> {
  const response = await fetch(`${process.env["BASE_URL"]}/api${path}`, {
    method,
    headers: { Authorization: `Bearer ${process.env["API_KEY"]}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    const error = (await response.json()) as Schemas["ErrorAnswer"];
    throw new Error(`${method} ${path}: ${response.status} ${error.code} ${error.error}`);
  }
  return (await response.json()) as Answer<operations[Name]>;
}

// Only what is required has to be given.
const smallest: Schemas["AgentCreate"] = { name: "Typed", instructions: "one" };
const block: Schemas["PromptBlockCreate"] = { id: "typed", name: "Typed", content: "one" };
// @ts-expect-error  the instructions are required
const withoutInstructions: Schemas["AgentCreate"] = { name: "Typed" };
// @ts-expect-error  they cannot be cleared
const cleared: Schemas["AgentUpdate"] = { instructions: null };
// @ts-expect-error  this is no member
const unknown: Schemas["AgentCreate"] = { ...smallest, surprise: true };
void [withoutInstructions, cleared, unknown];

const forGold: Schemas["RuleGroup"] = {
  operator: "AND",
  conditions: [{ field: "tier", operator: "equals", value: "gold" }],
};
const edit: Schemas["AgentUpdate"] = {
  description: null,
  instructions: [
    { type: "text", content: "two" },
    { type: "prompt_block", content: "for gold", rules: forGold },
  ],
  model: { provider: "echo", name: "echo" },
  tools: [{ value: { search: { description: "Finds." } }, rules: forGold }],
  autoPublish: true,
};

const made = await call("create_stored_agent", "POST", "/stored/agents", smallest);
const saved = await call("update_stored_agent", "PATCH", `/stored/agents/${made.id}`, edit);
const versions = await call("list_stored_agent_versions", "GET", `/stored/agents/${made.id}/versions`);
const exported = await call("export_stored_agent", "POST", `/stored/agents/${made.id}/export`);
const listed = await call("list_stored_agents", "GET", "/stored/agents");
await call("create_prompt_block", "POST", "/stored/prompt-blocks", block);
const context = Buffer.from(JSON.stringify({ tier: "gold" })).toString("base64url");
const served = await call("get_agent", "GET", `/agents/${made.id}?requestContext=${context}`);
const parts = await call("get_agent_parts", "GET", `/agents/${made.id}/parts`);
const label = await call("set_stored_agent_label", "PUT", `/stored/agents/${made.id}/labels/stable`, {
  versionId: versions.versions[0]?.id ?? "",
  released: true,
});
const events = await call("list_events", "GET", `/events?kind=agent&id=${made.id}`);
const providers = await call("list_providers", "GET", "/providers");
const run = await call("generate_agent", "POST", `/agents/${made.id}/generate`, {
  messages: [{ role: "user", content: "Hello" }],
  versions: { agents: { [made.id]: { status: "published" } } },
});

// What may be missing in an answer is missing there, and needs no check for null.
const description: string | undefined = saved.description;
const state: "published" | "draft" | "historical" | undefined = versions.versions[0]?.state;
const latest: string | null = saved.latestVersionId;
const facts: Record<string, boolean> = {
  "the agent is made": made.id === "typed" && made.status === "published",
  "the edit is published": saved.activeVersionId === latest && description === undefined,
  "there are two versions": versions.total === 2 && state === "published",
  "it is exported": exported.agentId === made.id && exported.content.includes("for gold"),
  "it is listed": listed.agents.some((agent) => agent.id === made.id),
  "it is served in a context": served.instructions === "two\n\nfor gold" && served.blocks.length === 0,
  "its parts are there": parts.config["name"] === "Typed" && parts.rollout === null,
  "a label is released": label.released && label.name === "stable",
  "the log has it": events.events.some((event) => event.type === "agent.published"),
  "echo is ready": providers.providers.some((provider) => provider.name === "echo" && provider.ready),
  "it answers": run.text.includes("Hello") && run.steps[0]?.finishReason === "stop",
};
for (const [fact, holds] of Object.entries(facts)) {
  console.log(`${holds ? "yes" : "NO"}: ${fact}`);
  if (!holds) process.exitCode = 1;
}
