// Prints what is published, as it happens; after an interruption it goes on where it was.
// A browser's EventSource sends no Authorization header. With fetch it takes these lines.

const url = process.env.EDITOR_URL ?? "http://127.0.0.1:8000";
const headers = { Authorization: `Bearer ${process.env.EDITOR_API_KEY}` };

async function ask(path, more = {}) {
  const response = await fetch(`${url}/api${path}`, { headers: { ...headers, ...more } });
  if (response.ok) return response;
  throw Object.assign(new Error(`${response.status} ${await response.text()}`), { status: response.status });
}

async function* frames(body) {
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const parts = (text + piece).split("\n\n");
    text = parts.pop();
    yield* parts;
  }
}

async function* follow(query) {
  let { next: position, epoch } = await (await ask("/events?after=now")).json(); // a stream from `now` can miss something
  for (;;) {
    try {
      const { body } = await ask(`/events/stream?${query}&epoch=${epoch}`, { "Last-Event-ID": String(position) });
      for await (const frame of frames(body)) {
        const line = (name) => frame.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
        if (line("event") === "error") throw Object.assign(new Error(line("data")), { status: 410 });
        if (line("data")) yield JSON.parse(line("data"));
        position = line("id") ?? position; // events without an id come again if the connection ends here
      }
    } catch (error) {
      if ([400, 401, 403, 410].includes(error.status)) throw error; // at 410 something was missed: read everything anew
      console.error(error.message);
    }
    await new Promise((resolve) => setTimeout(resolve, 500 + 1000 * Math.random())); // not all at once
  }
}

for await (const event of follow("type=agent.published,promptBlock.published")) {
  console.log(`${event.resource.id}: version ${event.versionNumber} by ${event.actor.id}`);
}
