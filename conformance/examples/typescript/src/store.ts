// The files of the workspace: .nexus/ in the project root. See "The workspace" and "Files" in the contract.

import * as fs from "node:fs";
import * as path from "node:path";

/** An error that the caller sees as {"error": "<message>"}. */
export class ToolError extends Error {}

export type Json = { [field: string]: any };

/** The project root: NEXUS_PROJECT_ROOT, else the nearest folder with a .git, else the working directory. */
export function projectRoot(): string {
  if (process.env.NEXUS_PROJECT_ROOT) return path.resolve(process.env.NEXUS_PROJECT_ROOT);
  for (let at = process.cwd(); ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, ".git"))) return at;
    if (at === path.dirname(at)) return process.cwd();
  }
}

export class Store {
  constructor(private readonly root: string) {}

  /** The object in a file of .nexus/, or undefined if there is no such file. A broken file is an error, never "no file". */
  read(name: string): Json | undefined {
    const file = this.checkedPath(name);
    let bytes: Buffer;
    try {
      bytes = fs.readFileSync(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new ToolError(`.nexus/${name} cannot be read (${(error as NodeJS.ErrnoException).code}). Nothing was changed.`);
    }
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      // The message of the parser is not repeated: it quotes the file.
      throw new ToolError(`.nexus/${name} is not valid JSON. Repair it, then call again. Nothing was changed.`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new ToolError(`.nexus/${name} must hold a JSON object. Repair it, then call again. Nothing was changed.`);
    }
    return value;
  }

  /** Replace a file of .nexus/ as a whole: a reader, or a kill at any moment, sees the old text or the new one. */
  write(name: string, value: Json): void {
    const file = this.checkedPath(name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const ignore = path.join(this.root, ".nexus", ".gitignore");
    if (!fs.existsSync(ignore)) fs.writeFileSync(ignore, "state/\n");
    const temporary = `${file}.${process.pid}.tmp`;
    const fd = fs.openSync(temporary, "wx");
    try {
      fs.writeFileSync(fd, `${JSON.stringify(value, null, 2)}\n`);
      fs.fsyncSync(fd);
      fs.closeSync(fd);
      fs.renameSync(temporary, file);
    } catch (error) {
      fs.rmSync(temporary, { force: true });
      throw error;
    }
  }

  /** The path of a file of .nexus/. A link on the way is refused: it could lead out of the project. */
  private checkedPath(name: string): string {
    let at = path.join(this.root, ".nexus");
    for (const part of ["", ...name.split("/")]) {
      at = path.join(at, part);
      if (fs.lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) {
        throw new ToolError(`${path.relative(this.root, at)} is a symbolic link. Put a plain file or folder there.`);
      }
    }
    return at;
  }
}
