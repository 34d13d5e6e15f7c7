// Builds the editor of prompts into the static files of the studio: `make prompt-editor`.
//
// The first line of the bundle holds a digest of everything that it is made of, by which a test sees whether the
// bundle in the repository belongs to the sources beside it. Servers send the compressed one to browsers.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [, , folder = join(here, "../static/studio")] = process.argv;

const sources = ["build.mjs", "package-lock.json", "package.json", "../static/studio/text.js", ...readdirSync(join(here, "src")).map((name) => `src/${name}`)];
const digest = createHash("sha256");
for (const name of sources.sort()) digest.update(`${name}\n`).update(readFileSync(join(here, name)));

const banner = `/* Made by \`make prompt-editor\` from ${digest.digest("hex")}; licences: prompt-editor.licences.txt */`;

const bundle = join(folder, "prompt-editor.js");
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js"],
  outfile: bundle,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome120", "firefox120", "safari17"],
  charset: "utf8",
  banner: { js: banner },
  legalComments: "none",
  metafile: true,
});
writeFileSync(`${bundle}.gz`, gzipSync(readFileSync(bundle), { level: 9 }));

const packages = new Set(
  Object.keys(metafile.inputs)
    .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter(Boolean),
);
const licences = [...packages].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
});
const head = "What prompt-editor.js is made of, besides studio/frontend.\n";
writeFileSync(join(folder, "prompt-editor.licences.txt"), [head, ...licences].join(`\n${"-".repeat(80)}\n\n`));
