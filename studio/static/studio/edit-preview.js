// The preview next to the form: what is typed at this moment, assembled by the server.

const form = document.getElementById("edit-form");
const asking = document.getElementById("preview-form");
const result = document.getElementById("preview-result");

async function preview() {
  const typed = new FormData(form);
  for (const [name, value] of new FormData(asking)) typed.set(name, value);
  result.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(asking.action, { method: "POST", body: typed });
    // Whoever is not signed in any more is led to where one signs in.
    if (answer.redirected) throw new Error("you are not signed in any more. Sign in in another tab, and try again.");
    if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
    // The server has escaped whatever was typed; this is its own markup.
    result.innerHTML = await answer.text();
  } catch (error) {
    result.textContent = `There is no preview: ${error.message}`;
  }
  result.removeAttribute("aria-busy");
}

asking?.addEventListener("submit", (event) => {
  event.preventDefault();
  preview();
});
