// An open page hears of what others do: it asks while somebody looks at it, and renews its parts that are
// marked with `data-live`, unless something is typed in them. Not by a stream: a browser has six connections
// to a host, and every tab would hold one.

import { lost } from "./connection.js";

const { gettext, interpolate, ngettext } = window;
const box = document.getElementById("live");
const EVERY = 2000;
const WHILE_BUSY = 10_000; // when something happens all the time, its pages are not drawn all the time
const AT_MOST = 60_000;
const PATIENCE = 10_000;
const GROWS_OLD = 60_000; // "just now" is true for a minute
const MOVES = 5000; // what is marked with `data-moves`, such as numbers that rise, changes without an event
const ENDS = new Set([401, 403, 404]);

let address = new URL(box.dataset.ask, location.href);
let source = box.dataset.source || location.href;
const regions = [...document.querySelectorAll("[data-live][id]")];
let wait = EVERY;
let timer = null;
let isAsking = false;
let isOver = false;
let isPaused = false;
let drawn = Date.now();

class Over extends Error {}

async function ask(what) {
  const answer = await fetch(what, {
    redirect: "manual", // without a session the answer is a redirect to the sign-in page
    headers: { "X-Live": "1" },
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (answer.type === "opaqueredirect" || ENDS.has(answer.status)) throw new Over();
  if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
  return answer;
}

async function look() {
  const { changed, next, unread } = await (await ask(address)).json();
  if (unread !== undefined) ring(unread);
  const has = (what) => regions.some((region) => region.querySelector(what));
  const age = Date.now() - drawn;
  const isOld = (age > MOVES && has("[data-moves]")) || (age > GROWS_OLD && has("time"));
  if (changed || isOld) await renew();
  // Only now: what could not be shown is asked for again.
  address.searchParams.set("after", next);
  wait = changed ? Math.min(wait * 2, WHILE_BUSY) : EVERY;
}

// The number of the bell, which counts to `data-most` and no further.
function ring(unread) {
  const bell = document.querySelector("[data-bell]");
  if (!bell) return;
  const most = Number(bell.dataset.most);
  const number = bell.querySelector(".bell-number");
  number.hidden = unread === 0;
  number.textContent = unread > most ? `${most}+` : unread;
  const said = interpolate(ngettext("Notifications, %s new", "Notifications, %s new", unread), [number.textContent]);
  bell.setAttribute("aria-label", unread === 0 ? gettext("Notifications") : said);
}

const andMore = (first, count) => interpolate(ngettext("%(first)s And %(count)s more.", "%(first)s And %(count)s more.", count), { first, count }, true);

async function renew(from = source, what = regions) {
  const text = await (await ask(from)).text();
  if (isPaused) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  if (from === location.href) document.title = page.title;
  const said = [];
  for (const region of what) {
    const fresh = page.getElementById(region.id);
    if (fresh && !isTyped(region)) said.push(...put(region, fresh));
  }
  drawn = Date.now();
  if (said.length) box.textContent = said.length === 1 ? said[0] : andMore(said[0], said.length - 1);
}

// Puts what is new in the place of what was shown, and returns the sentences of the lines that are new.
function put(region, fresh) {
  if (comparable(region) === comparable(fresh)) {
    const times = fresh.querySelectorAll("time");
    region.querySelectorAll("time").forEach((time, place) => { time.textContent = times[place].textContent; });
    return [];
  }
  const known = new Set([...region.querySelectorAll("[data-key]")].map((line) => line.dataset.key));
  const added = [...fresh.querySelectorAll("[data-key]")].filter((line) => !known.has(line.dataset.key));
  for (const open of region.querySelectorAll("details[open][id]")) fresh.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
  for (const box of region.querySelectorAll("input[type=checkbox][value]:checked")) {
    const same = fresh.querySelector(`input[value="${CSS.escape(box.value)}"]`); // of another version it is another value
    if (same) same.checked = true;
  }
  const held = region.contains(document.activeElement) ? document.activeElement : null;
  region.replaceChildren(...fresh.childNodes);
  if (held !== null) focus(region, held);
  region.dispatchEvent(new Event("studio:renewed", { bubbles: true }));
  if (region.role === "status") return []; // is read out as it is
  for (const line of added) line.classList.add("activity-new");
  return added.filter((line) => line.querySelector(".activity-text")).map((line) => `${line.querySelector(".activity-text").textContent.replace(/\s+/g, " ").trim()}.`);
}

// What one can have the focus on is known by its id, by where it leads, or by its words.
const nameOf = (control) => control.getAttribute("href") ?? control.getAttribute("value") ?? `${control.tagName} ${control.getAttribute("aria-label") ?? control.textContent}`;

function focus(region, held) {
  const same = held.id && region.querySelector(`#${CSS.escape(held.id)}`);
  (same || [...region.querySelectorAll("a, button, summary, input")].find((control) => nameOf(control) === nameOf(held)))?.focus();
}

// The markup but for what differs each time, and what was opened or marked here.
function comparable(region) {
  const copy = region.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) time.textContent = "";
  for (const token of copy.querySelectorAll("input[name=csrfmiddlewaretoken], input[name=next]")) token.removeAttribute("value");
  for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
  for (const line of copy.querySelectorAll(".activity-new")) line.classList.remove("activity-new");
  return copy.innerHTML.replace(/ class=""/g, "").replace(/\s+/g, " ");
}

async function turn() {
  timer = null;
  if (isAsking || isOver || isPaused || document.hidden) return;
  isAsking = true;
  try {
    await look();
  } catch (problem) {
    isOver = problem instanceof Over;
    if (!isOver) lost();
    // Not all tabs at once when the service is back.
    wait = Math.min(wait * (1.5 + Math.random()), AT_MOST);
    if (isOver) box.textContent = gettext("This page no longer hears of changes. Reload it to go on.");
  } finally {
    isAsking = false;
  }
  timer = setTimeout(turn, wait);
}

function goOn() {
  clearTimeout(timer);
  turn();
}

function goOnListening() {
  if (isOver) box.textContent = "";
  isOver = false;
  wait = EVERY;
  goOn();
}

// Neither what somebody types into nor the button that was just pressed is taken away.
function isTyped(region) {
  const boxes = region.querySelectorAll("textarea, input:not([type=hidden], [type=checkbox], [type=radio])");
  return [...boxes].some((box) => box.value !== box.defaultValue || (box === document.activeElement && box.matches("textarea")));
}
const isInUse = (region) => region.contains(document.getElementById("save-draft")) || isTyped(region);

document.addEventListener("visibilitychange", goOn);
// What this page is sending is not news to it.
document.addEventListener("submit", (event) => { isPaused = !event.defaultPrevented; });
document.addEventListener("studio:stays", () => { isPaused = false; });
// A save in place is no news to its page, which shows anew what it says of the saved version.
document.addEventListener("studio:saved", ({ detail }) => {
  if (!detail.news) return;
  address = new URL(detail.news, location.href);
  source = detail.source;
  const untouched = [...document.querySelectorAll("[data-live][id], [data-after-save][id]")].filter((region) => !isInUse(region));
  renew(location.href, untouched).catch(() => {}); // then it says what it said before
});
document.addEventListener("studio:signed-in", goOnListening);
document.addEventListener("studio:answers", goOnListening);
addEventListener("pageshow", (event) => {
  isPaused = false;
  if (event.persisted) goOn();
});
timer = setTimeout(turn, EVERY);
