// Everything that the editor says, in the language of the page.

const { gettext, ngettext, interpolate } = window;

const filled = (sentence, values) => interpolate(sentence, values, true);
const language = document.documentElement.lang;
const number = (value) => value.toLocaleString(language);

const EXAMPLE = '{{ customer.name || "you" }}';

// Why something is no placeholder, or one that finds no value.
const REASONS = {
  empty: () => gettext("There is no name between these braces."),
  brace: ({ about }) => filled(gettext("A closing brace is missing after “%(name)s”."), { name: about }),
  first: ({ about }) => filled(gettext("An opening brace is missing before “%(name)s”."), { name: about }),
  open: () => gettext("This placeholder is never closed."),
  name: ({ about }) => filled(gettext("“%(text)s” is not a name: use letters, digits, _ and dots, and do not begin with a digit."), { text: about }),
  bar: () => filled(gettext("A fallback comes after two bars: %(example)s"), { example: EXAMPLE }),
  quotes: () => filled(gettext("A fallback needs straight quotes: %(example)s"), { example: EXAMPLE }),
  quote: () => filled(gettext("The quote of the fallback is not closed: %(example)s"), { example: EXAMPLE }),
  rest: () => filled(gettext("Nothing may follow the fallback: %(example)s"), { example: EXAMPLE }),
  gap: ({ about }) => filled(gettext("“%(name)s” has a dot without a name after it, so no value will be found."), { name: about }),
  stray: () => gettext("There is no opening brace for this one."),
  unclosed: () => gettext("This brace is never closed."),
  single: ({ about }) => filled(gettext("Single braces are not filled in. Write %(example)s"), { example: `{{ ${about} }}` }),
  undeclared: ({ about }) => filled(gettext("“%(name)s” is not in the context schema."), { name: about }),
  literal: () => gettext("This is not filled in: one text is used exactly as written. Use blocks to fill in values."),
};

export const reasonFor = (problem) => REASONS[problem.reason](problem);

export const onLine = (line, message) => filled(gettext("Line %(line)s: %(message)s"), { line: number(line), message });
export const moreProblems = (count) => filled(ngettext("and %(count)s more", "and %(count)s more", count), { count: number(count) });

export const characters = (count) => filled(ngettext("%(count)s character", "%(count)s characters", count), { count: number(count) });
export const tokens = (count) => filled(ngettext("about %(count)s token", "about %(count)s tokens", count), { count: number(count) });

export const KEYS = gettext("Control+Space suggests names, Control+F finds, F8 goes to the next problem, Tab leaves the field.");
export const FIND = gettext("Find");
export const FILL = gettext("Full window");
export const LEAVE = gettext("Close full window");
export const GO = gettext("Go there");
export const DECLARED = gettext("In the context schema");
export const USED = gettext("Used elsewhere");

export const saying = ({ by, says }) => filled(gettext("%(name)s: %(text)s. Alt+Enter goes there."), { name: by, text: says });
export const origin = (name) => filled(gettext("used in %(name)s"), { name });

// What CodeMirror says itself; the keys are its own English words.
export const PHRASES = {
  Find: gettext("Find"),
  Replace: gettext("Replace with"),
  next: gettext("Next"),
  previous: gettext("Previous"),
  all: gettext("Select all"),
  "match case": gettext("Match case"),
  "by word": gettext("Whole words"),
  regexp: gettext("Regular expression"),
  replace: gettext("Replace"),
  "replace all": gettext("Replace all"),
  close: gettext("Close"),
  "current match": gettext("current match"),
  "replaced $ matches": gettext("replaced $ matches"),
  "replaced match on line $": gettext("replaced the match on line $"),
  "on line": gettext("on line"),
  Completions: gettext("Suggested names"),
  Diagnostics: gettext("Problems"),
  "No diagnostics": gettext("No problems"),
  "Control character": gettext("Control character"),
  "Selection deleted": gettext("Selection deleted"),
};
