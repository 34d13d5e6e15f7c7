// A chat with several versions of an agent at once: each has its own history and its own stream.

const form = document.getElementById("try-form");
const message = document.getElementById("try-message");
const context = document.getElementById("try-context");
const stop = document.getElementById("try-stop");
const columns = [...document.querySelectorAll("[data-stream]")].map((element) => ({
  address: element.dataset.stream,
  agent: element.dataset.agent,
  version: element.dataset.version,
  turns: element.querySelector(".turns"),
  history: [],
}));
let running = null;

function turn(column, who, text) {
  const element = document.createElement("div");
  element.className = `turn turn-${who}`;
  element.textContent = text;
  column.turns.querySelector(".empty")?.remove();
  column.turns.append(element);
  element.scrollIntoView({ block: "nearest" });
  return element;
}

async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data: {")) yield JSON.parse(line.slice("data: ".length));
    }
  }
}

async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  const issues = (body.issues ?? []).map((issue) => `${issue.field}: ${issue.message}`);
  return issues.join("\n") || body.error || `The server answers ${answer.status}.`;
}

function tell(column, event, shown) {
  const { payload } = event;
  if (event.type === "text-delta") shown.textContent += payload.text;
  else if (event.type === "tool-call") turn(column, "note", `Uses ${payload.toolName} with ${JSON.stringify(payload.args)}`);
  else if (event.type === "error") turn(column, "error", payload.error);
  else if (event.type === "finish") {
    for (const warning of payload.warnings) turn(column, "note", warning.message);
    if ((payload.resolvedVersions[column.agent] ?? "") !== column.version) {
      turn(column, "note", "Somebody saved or published in the meantime: this is the answer of another version. Load the page again to see which.");
    }
  }
}

async function run(column, requestContext, signal) {
  const shown = turn(column, "assistant", "");
  const { history } = column;
  shown.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(column.address, {
      method: "POST",
      signal,
      headers: { "Content-Type": "application/json", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
      body: JSON.stringify({ messages: history, requestContext }),
    });
    if (!answer.ok) throw new Error(await refusal(answer));
    for await (const event of eventsOf(answer)) {
      if (column.history !== history) return;
      tell(column, event, shown);
    }
  } catch (error) {
    // Whoever has started over sees nothing of what was stopped by it.
    if (column.history !== history) return;
    turn(column, "error", signal.aborted ? "Stopped." : error.message);
  }
  shown.removeAttribute("aria-busy");
  if (shown.textContent) history.push({ role: "assistant", content: shown.textContent });
  else shown.remove();
}

function contextTyped() {
  const value = JSON.parse(context.value.trim() || "{}");
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("not an object");
  return value;
}

async function send() {
  const text = message.value.trim();
  if (!text || running) return;
  let requestContext;
  try {
    requestContext = contextTyped();
  } catch {
    context.closest("details").open = true;
    context.focus();
    return;
  }
  message.value = "";
  running = new AbortController();
  stop.disabled = false;
  for (const column of columns) {
    turn(column, "user", text);
    column.history.push({ role: "user", content: text });
  }
  await Promise.all(columns.map((column) => run(column, requestContext, running.signal)));
  running = null;
  stop.disabled = true;
  message.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
message.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => running?.abort());
document.getElementById("try-again").addEventListener("click", () => {
  running?.abort();
  for (const column of columns) {
    column.history = [];
    column.turns.replaceChildren(Object.assign(document.createElement("p"), { className: "empty", textContent: "No messages yet." }));
  }
  message.focus();
});
