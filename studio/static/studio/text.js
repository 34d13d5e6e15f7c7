// Texts of any language: where they may be cut, how they are compared, and how they are found in other texts.
//
// The rules are those of the service: editor_client/shared/text_keys.py and versioning/domain/graphemes.py. Tests hold
// them against each other, over the test files of Unicode.

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

// What people take for characters: letters with their marks, syllables, emoji of several code points.
export const graphemes = (text) => Array.from(segmenter.segment(text), ({ segment }) => segment);

// The beginning of a text of at most `limit` units, cut between characters; a character that is longer is cut.
export function clipped(text, limit) {
  if (text.length <= limit) return text;
  const { index } = segmenter.segment(text).containing(limit);
  return text.slice(0, index || limit);
}

// The key of a text for comparing and finding without regard to case and normal form. There is no full case folding in
// JavaScript: capitals, and then small letters one by one, are the same but for a few letters.
const FOLDED = new Map([["ı", "ı"], ["ẞ", "ss"]]);
const fold = (letter) => FOLDED.get(letter) ?? Array.from(letter.toUpperCase(), (one) => one.toLowerCase()).join("");
export const caseless = (text) => Array.from(text.normalize("NFD"), fold).join("").normalize("NFC");

// A pattern for words with any space between them. With the flag `u` only syntax characters may be escaped: an escaped
// hyphen, for one, is an error. So nothing else is, and no text of a person becomes code.
export function patternOf(words, flags = "") {
  const escaped = words.trim().split(/\s+/u).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"));
  return new RegExp(escaped.join("\\s+"), `${flags}u`);
}
