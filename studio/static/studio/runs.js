// Running an agent in the name of the session, and hearing of its events as they happen.

const { gettext, interpolate, ngettext } = window;

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
  return issues.join("\n") || body.error || interpolate(gettext("The server answers %(status)s."), { status: answer.status }, true);
}

const OTHER_VERSION = gettext("Someone saved or published in the meantime: this is the answer of another version. Load the page again to see which.");

// Notes of an event that are for people.
export function notesOf(event, expected) {
  const { payload } = event;
  if (event.type === "tool-call") {
    return [interpolate(gettext("Uses %(tool)s with %(arguments)s"), { tool: payload.toolName, arguments: JSON.stringify(payload.args) }, true)];
  }
  if (event.type !== "finish") return [];
  const notes = payload.warnings.map((warning) => warning.message);
  if ((payload.resolvedVersions[expected.agent] ?? "") !== expected.version) notes.push(OTHER_VERSION);
  return notes;
}

// Yields the events of a run; throws what the server refuses. `token` is Django's against forged requests.
export async function* run({ address, messages, requestContext, token, signal }) {
  const answer = await fetch(address, {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", "X-CSRFToken": token },
    body: JSON.stringify({ messages, requestContext }),
  });
  if (!answer.ok) throw new Error(await refusal(answer));
  yield* eventsOf(answer);
}

// What an answer took: "812 tokens, 1.4 s".
export function costOf(usage, milliseconds) {
  const seconds = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 1 }).format(milliseconds / 1000);
  const tokens = usage?.totalTokens ?? 0;
  const text = ngettext("%(tokens)s token, %(seconds)s s", "%(tokens)s tokens, %(seconds)s s", tokens);
  return interpolate(text, { tokens: new Intl.NumberFormat(document.documentElement.lang).format(tokens), seconds }, true);
}

// Another choice in the list of agents opens the page with it.
export function submitChoices() {
  for (const choice of document.querySelectorAll("[data-submits]")) {
    choice.addEventListener("change", () => choice.form.requestSubmit());
  }
}
