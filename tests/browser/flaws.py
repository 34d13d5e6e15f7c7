"""What is wrong with a page that is open: what is clipped, covered or too wide, and what axe finds."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page

SERIOUS = {"serious", "critical"}
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]
MORE = [["main :is(li, tr):nth-child(n + 9)"]]
"""The rest of a long list, which is like its beginning."""

# Every visible control lies within the window; the element in its middle is the control, a part of it or
# its parent. Every icon is rendered as an icon, not as a word. No text is narrower than its words.
MISPLACED = """async () => {
  if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done));
  const found = [];
  await document.fonts.ready;
  for (const _frame of [1, 2]) await new Promise(requestAnimationFrame); // scripts follow a new width in one
  for (const icon of document.querySelectorAll(".material-symbols-outlined"))
    if (icon.scrollWidth > icon.clientWidth + 1) found.push(`fonts/icons.txt has no ${icon.textContent}`);
  const shown = (node) => node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  for (const node of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (!shown(node) || node.closest(".unseen, .skip") || node.type === "hidden") continue;
    node.scrollIntoView({block: "center", inline: "center"});
    const box = node.getClientRects()[0];
    if (!box || !box.width || !box.height) continue;
    const name = `${node.tagName} ${node.name || node.textContent.trim().slice(0, 40)}`;
    if ((box.left < -1 || box.right > innerWidth + 1)) found.push(`${name}: clipped`);
    const there = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (there && !node.contains(there) && !there.contains(node)) found.push(`${name}: covered`);
  }
  window.scrollTo(0, 0);
  const seen = (node) => shown(node) && !node.closest(".unseen");
  const buttons = [...document.querySelectorAll(".button")].filter(seen);
  const boxes = buttons.map((node) => node.getBoundingClientRect());
  const docked = new Set(boxes.filter((box, at) => buttons[at].closest(".dock"))); // over what scrolls below
  for (const [at, one] of boxes.entries()) for (const other of boxes.slice(at + 1)) {
    if (docked.has(one) !== docked.has(other)) continue;
    const across = Math.max(one.left, other.left) - Math.min(one.right, other.right);
    const down = Math.max(one.top, other.top) - Math.min(one.bottom, other.bottom);
    const names = [one, other].map((box) => buttons[boxes.indexOf(box)].textContent.trim());
    const gap = Math.max(across, down);
    if (gap < 4 && gap > -2) found.push(`${names.join(" and ")}: touch`);
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text; (text = texts.nextNode());) {
    range.selectNodeContents(text);
    if (range.getClientRects().length < 2 || !seen(text.parentElement)) continue;
    for (const {0: word, index} of text.data.matchAll(/(?<!\\S)\\p{L}{2,20}(?![^\\s\\p{P}]|\\p{P}\\S)/gu)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = new Set([...range.getClientRects()].map(({top}) => Math.round(top)));
      if (tops.size > 1) found.push(`${word}: broken into ${tops.size} lines`);
    }
  }
  const overflow = document.documentElement.scrollWidth - innerWidth;
  if (overflow > 0) found.push(`the page is ${overflow} pixels too wide`);
  window.scrollTo(0, 0);
  return found;
}"""

# Contrast takes axe longer than all other rules, for it looks at what lies below each text. Texts that have
# the same colours in both themes have the same contrast, on whatever page: axe judges one of each kind.
CONTRAST = """async (part, [rules, judged]) => {
  const root = document.documentElement, before = root.className;
  const show = (theme) => root.className = `${before.replace(/\\b(dark|light)\\b/g, "")} ${theme}`;
  const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), looks = new Map();
  while (texts.nextNode()) {
    const {data, parentElement} = texts.currentNode;
    if (data.trim()[1]) looks.set(parentElement, "");
  }
  for (const input of part.querySelectorAll("input, textarea, select")) if (input.value) looks.set(input, "");
  const notJudged = ".unseen, .skip, .material-symbols-outlined, :disabled, [type=checkbox], [type=radio]";
  for (const node of looks.keys())
    if (node.closest(notJudged) || !node.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}))
      looks.delete(node);
  for (const theme of ["light", "dark"]) {
    show(theme);
    const grounds = new Map([[null, ""]]);
    const ground = (node) => {
      if (!grounds.has(node)) {
        const {backgroundColor, backgroundImage, filter, opacity, position} = getComputedStyle(node);
        const place = ["static", "relative"].includes(position) ? "" : position + node.className;
        const own = [backgroundColor, backgroundImage, filter, opacity, place].join(" ");
        const below = ground(node.parentElement);
        grounds.set(node, own === "rgba(0, 0, 0, 0) none none 1 " ? below : `${own}, ${below}`);
      }
      return grounds.get(node);
    };
    for (const [node, look] of looks) {
      const {color, fontSize, fontWeight, textDecorationLine} = getComputedStyle(node);
      const around = node.parentElement && getComputedStyle(node.parentElement).color;
      const now = [color, fontSize, fontWeight, textDecorationLine, around, ground(node)].join(", ");
      looks.set(node, `${look} ${now}`);
    }
  }
  const short = (text) => [...text].reduce((sum, one) => (Math.imul(sum, 31) + one.charCodeAt(0)) | 0, 0);
  const distinct = new Map([...looks].map(([node, look]) => [look, node]));
  const fresh = new Map([...distinct].map(([look, node]) => [short(look), node]));
  for (const known of judged) fresh.delete(known);
  const options = {runOnly: rules, resultTypes: ["violations", "passes"], preload: false, elementRef: true};
  const found = [];
  for (const theme of fresh.size ? ["light", "dark"] : []) {
    show(theme);
    const {violations, passes} = await axe.run({include: [...fresh.values()]}, options);
    const contrast = passes.find(({id}) => id === "color-contrast");
    const passed = new Set(contrast?.nodes.map(({element}) => element));
    for (const [look, node] of fresh) if (!passed.has(node)) fresh.delete(look);
    for (const {id, impact, nodes} of violations)
      found.push({id, impact, nodes: nodes.map(({html}) => ({html: `${theme}: ${html}`}))});
    if (!fresh.size) break;
  }
  root.className = before;
  return [found, [...fresh.keys()]];
}"""
_judged: set[int] = set()
"""How the texts look whose contrast axe has found good enough, in this process."""


def flaws(page: Page, part: Locator | None = None) -> list[Any]:
    """Return what is clipped or covered anywhere in a page, and what is inaccessible in a part of it.

    `part` is what a test has opened or changed, where the rest of the page is in the tests of all pages.
    """
    return [*page.evaluate(MISPLACED), *serious_problems(part or page)]


def serious_problems(where: Page | Locator) -> list[dict[str, Any]]:
    """Return the violations of axe's rules in a page or in a part of one."""
    return [*violations(where), *bad_colours(where)]


def violations(where: Page | Locator) -> list[dict[str, Any]]:
    """Return those of the rules that are not about colours, which are the same at every width."""
    run = """(node, [exclude, options]) =>
      axe.run({include: [node], exclude}, options).then(({violations}) => violations)"""
    rules = {"runOnly": STANDARDS, "rules": {rule: {"enabled": False} for rule in COLOURS}}
    options = {"resultTypes": ["violations"], "preload": False, **rules}
    return _serious(_with_axe(where).evaluate(run, [MORE, options]))


def bad_colours(where: Page | Locator) -> list[dict[str, Any]]:
    """Return those of the rules about colours, in both themes."""
    found, passed = _with_axe(where).evaluate(CONTRAST, [COLOURS, list(_judged)])
    _judged.update(passed)
    return _serious(found)


def _with_axe(where: Page | Locator) -> Locator:
    part = where if isinstance(where, Locator) else where.locator("html")
    if not part.page.evaluate("'axe' in window"):
        part.page.evaluate(AXE_SCRIPT)
    return part


def _serious(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"rule": problem["id"], "nodes": [node["html"][:200] for node in problem["nodes"][:3]]}
        for problem in found
        if problem["impact"] in SERIOUS
    ]
