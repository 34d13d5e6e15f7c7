// Everything that the editor says, in the language of the page.

const { gettext, ngettext, interpolate } = window;

const filled = (sentence, values) => interpolate(sentence, values, true);
const language = document.documentElement.lang;
const number = (value) => value.toLocaleString(language);

const EXAMPLE = '{{ customer.name || "you" }}';

// Why something is no placeholder, or none that anybody will fill in.
const REASONS = {
  empty: () => gettext("Nothing is named between these braces, so they stay as they are."),
  brace: ({ about }) => filled(gettext("One brace is missing at the end of “%(name)s”, so this stays as it is."), { name: about }),
  first: ({ about }) => filled(gettext("One brace is missing before “%(name)s”, so this stays as it is."), { name: about }),
  open: () => gettext("These braces are never closed, so they stay as they are."),
  name: ({ about }) => filled(gettext("“%(text)s” is no name that can be filled in: letters, digits, _ and dots, and no digit first."), { text: about }),
  bar: () => filled(gettext("Two bars go before what stands there otherwise: %(example)s"), { example: EXAMPLE }),
  quotes: () => filled(gettext("What stands there otherwise goes in straight quotes: %(example)s"), { example: EXAMPLE }),
  quote: () => filled(gettext("The quote is never closed: %(example)s"), { example: EXAMPLE }),
  rest: () => filled(gettext("Nothing may follow what stands there otherwise: %(example)s"), { example: EXAMPLE }),
  gap: ({ about }) => filled(gettext("“%(name)s” has a dot with no name after it, so nothing will be found."), { name: about }),
  stray: () => gettext("Nothing opens this brace."),
  unclosed: () => gettext("Nothing closes this brace."),
  single: ({ about }) => filled(gettext("Single braces are not filled in. Write %(example)s"), { example: `{{ ${about} }}` }),
  undeclared: ({ about }) => filled(gettext("The context schema does not declare “%(name)s”."), { name: about }),
  literal: () => gettext("One text is used just as it is, so this is not filled in. Choose blocks for that."),
};

export const reasonFor = (problem) => REASONS[problem.reason](problem);

export const onLine = (line, message) => filled(gettext("Line %(line)s: %(message)s"), { line: number(line), message });
export const moreProblems = (count) => filled(ngettext("and %(count)s more", "and %(count)s more", count), { count: number(count) });

export const characters = (count) => filled(ngettext("%(count)s character", "%(count)s characters", count), { count: number(count) });
export const tokens = (count) => filled(ngettext("about %(count)s token", "about %(count)s tokens", count), { count: number(count) });

export const KEYS = gettext("Control and Space suggests names, Control and F finds, F8 goes to the next thing that is not right. Tab leaves the field.");
export const FIND = gettext("Find");
export const FILL = gettext("Full window");
export const LEAVE = gettext("Close full window");
export const DECLARED = gettext("In the context schema");
export const USED = gettext("Used elsewhere");

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
  Completions: gettext("Names"),
  Diagnostics: gettext("What is not right"),
  "No diagnostics": gettext("Everything is right"),
  "Control character": gettext("Control character"),
  "Selection deleted": gettext("Selection deleted"),
};
