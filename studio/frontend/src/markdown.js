// Light colouring of Markdown: headings, emphasis, lists, code, tags. What is written stays what is seen.

import { HighlightStyle, Language, defineLanguageFacet, syntaxHighlighting } from "@codemirror/language";
import { styleTags, tags } from "@lezer/highlight";
import { parser } from "@lezer/markdown";

// A line below a paragraph makes no heading, and indented text no code: prompts are full of both.
const light = parser.configure({
  remove: ["SetextHeading", "IndentedCode", "LinkReference", "Entity", "Escape"],
  props: [styleTags({ "HTMLTag HTMLBlock CommentBlock Comment": tags.tagName, "InlineCode FencedCode/CodeText": tags.monospace })],
});

const style = HighlightStyle.define([
  { tag: tags.heading, class: "prompt-heading" },
  { tag: tags.strong, class: "prompt-strong" },
  { tag: tags.emphasis, class: "prompt-emphasis" },
  { tag: tags.monospace, class: "prompt-code" },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.url], class: "prompt-sign" },
  { tag: tags.tagName, class: "prompt-tag" },
]);

export const markdown = [new Language(defineLanguageFacet(), light, [], "markdown"), syntaxHighlighting(style)];
