// Copies of text that was typed and not saved. They stay in this browser: a copy belongs to a person, to what was
// edited, to the version that it began with, and to one opening of the page: two people never see each other's,
// and two tabs never write over each other's.

const PREFIX = "unsaved";
const LASTS = 14 * 24 * 60 * 60 * 1000;
export const frame = document.querySelector("[data-person]")?.dataset;

export const person = frame?.person;

const inKey = encodeURIComponent;
export const keyOf = (about, base, id) => [PREFIX, person, about, base, id].map(inKey).join("/");
const partsOf = (key) => key.split("/").map(decodeURIComponent);

function store() {
  try {
    return window.localStorage;
  } catch {
    return null; // switched off; then there are no copies
  }
}

const keys = () => Object.keys(store() ?? {}).filter((key) => key.startsWith(`${PREFIX}/`));

function read(key) {
  try {
    const copy = JSON.parse(store().getItem(key));
    return Array.isArray(copy.typed) && Number.isFinite(copy.at) ? copy : null;
  } catch {
    return null;
  }
}

export function remove(key) {
  store()?.removeItem(key);
}

export function keep(key, copy) {
  try {
    store().setItem(key, JSON.stringify({ ...copy, at: Date.now() }));
  } catch { /* the storage is full: then there is no copy */ }
}

// The person's copies of one thing, the newest first.
export function copiesOf(about) {
  const found = [];
  for (const key of keys()) {
    const [, whose, what, base, id] = partsOf(key);
    const copy = whose === person && what === about ? read(key) : null;
    if (copy) found.push({ ...copy, key, base, id });
  }
  return found.sort((one, other) => other.at - one.at);
}

export function everyKeyOfThePerson() {
  return keys().filter((key) => partsOf(key)[1] === person);
}

// Says whether anybody's copies are in this browser; the page to sign in on does not know whose they may be.
export const areThereAny = () => keys().length > 0;

// What is typed into a form, in the order of the page; without what every page has of its own.
const OF_THE_PAGE = new Set(["csrfmiddlewaretoken", "copy"]);
export const typedInto = (form) => [...new FormData(form)].filter(([name]) => !OF_THE_PAGE.has(name));

// On every page: what was saved and what is too old goes.
const COOKIE = "studio_saved";

function saved() {
  const cookie = document.cookie.split("; ").find((one) => one.startsWith(`${COOKIE}=`));
  if (!cookie) return new Set();
  document.cookie = `${COOKIE}=; path=${frame.home}; max-age=0`;
  return new Set(cookie.slice(COOKIE.length + 1).replaceAll('"', "").split("."));
}

export function tidy() {
  if (!frame) return;
  const gone = saved();
  for (const key of keys()) {
    const copy = read(key);
    if (!copy || gone.has(partsOf(key)[4]) || Date.now() - copy.at > LASTS) remove(key);
  }
}
