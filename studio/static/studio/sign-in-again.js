// Signing in again in a dialog over the page, which keeps all that was typed. Only the person of the page goes on
// from here: what one person typed is not sent as another's.

const { gettext, interpolate } = window;
const frame = document.querySelector("form[data-person]");
const PATIENCE = 10_000;

let asking = null; // one dialog, whoever asks

// Returns the session once the person of the page is signed in again; null if they close the dialog.
export function signInAgain(whoIsSignedIn, isOfThePage) {
  asking ??= ask(whoIsSignedIn, isOfThePage).finally(() => { asking = null; });
  return asking;
}

async function ask(whoIsSignedIn, isOfThePage) {
  const fetched = await formOf(await fetch(frame.dataset.signIn, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) }));
  if (!fetched) return whoIsSignedIn(); // somebody has signed in in another tab
  const dialog = opened(fetched);
  const session = await new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(null));
    dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(dialog, event.target, whoIsSignedIn, isOfThePage).then((found) => { if (found) resolve(found); });
    });
  });
  dialog.close(); // and the focus is where it was
  dialog.remove();
  if (session) document.dispatchEvent(new Event("studio:signed-in"));
  return session;
}

// The page to sign in on has the form, with the names and errors of its fields.
async function formOf(answer) {
  if (answer.type === "opaqueredirect") return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const form = page.getElementById("login-form");
  if (!form) throw new Error(`The server answers ${answer.status}.`);
  return { form, problem: page.querySelector(".notice-error")?.textContent ?? "" };
}

function opened({ form }) {
  const dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.setAttribute("aria-labelledby", "sign-in-again");
  const title = Object.assign(document.createElement("h2"), { id: "sign-in-again", textContent: gettext("You are signed out") });
  const why = document.createElement("p");
  why.textContent = interpolate(gettext("Sign in again as %(name)s, and it goes on from here. What you typed is still on the page."), frame.dataset, true);
  const problem = Object.assign(document.createElement("p"), { className: "notice notice-error", hidden: true });
  problem.setAttribute("role", "alert");
  const later = Object.assign(document.createElement("button"), { type: "button", className: "button button-quiet wide", textContent: gettext("Not now") });
  later.addEventListener("click", () => dialog.close());
  dialog.append(title, why, problem, form, later);
  document.body.append(dialog);
  dressed(form).elements.username.value = frame.dataset.name;
  dialog.showModal();
  form.elements.password.focus();
  return dialog;
}

// In the dialog it is no card of its own.
function dressed(form) {
  form.classList.remove("card");
  return form;
}

async function attempt(dialog, form, whoIsSignedIn, isOfThePage) {
  try {
    // The address is that of the form, whatever its page has been asked for.
    const answer = await fetch(frame.dataset.signIn, { method: "POST", body: new FormData(form), redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    const refused = await formOf(answer);
    if (refused) return again(dialog, form, refused);
    const session = await whoIsSignedIn();
    if (!session) return tell(dialog, gettext("This account may not open the studio."));
    if (isOfThePage(session)) return session;
    form.elements.csrfmiddlewaretoken.value = session.token;
    const names = { other: session.name, name: frame.dataset.name };
    return tell(dialog, interpolate(gettext("%(other)s is now signed in, but this page is %(name)s’s. Nothing was sent. Sign in as %(name)s to go on."), names, true));
  } catch {
    return tell(dialog, gettext("The service cannot be reached. Try again in a moment."));
  }
}

function again(dialog, form, refused) {
  form.replaceWith(dressed(refused.form));
  tell(dialog, refused.problem);
  refused.form.elements.password.focus();
  return null;
}

function tell(dialog, text) {
  const problem = dialog.querySelector("[role=alert]");
  problem.hidden = !text;
  problem.textContent = text;
  return null;
}
