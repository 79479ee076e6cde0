// Builds ../web/app.js and app.css from src/: one classic script and one style sheet, the same bytes for the same source.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? here;

await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022", "chrome119", "firefox128", "safari17.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "ascii",
  legalComments: "none",
  banner: { js: "/* with Preact, MIT licence, (c) 2015-present Jason Miller: LICENSE-preact.txt of pincite */" },
  logLevel: "warning",
});
