// The style sheets of CodeMirror, where the Content-Security-Policy allows no <style>: as adopted ones.
//
// style-mod adopts sheets in shadow roots only, and writes a <style> into documents. It knows a document by its
// `head`; this stand-in has none.

import { StyleModule } from "style-mod";

const stands = {
  ownerDocument: document,
  get adoptedStyleSheets() { return document.adoptedStyleSheets; },
  set adoptedStyleSheets(sheets) { document.adoptedStyleSheets = sheets; },
};
const mount = StyleModule.mount.bind(StyleModule);

StyleModule.mount = (root, modules, options) => mount(root === document ? stands : root, modules, options);
