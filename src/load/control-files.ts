import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "#core";
import type { ControlFiles } from "./control.ts";

/** Throws a UserError without the directory. If it is removed later, the bench has ended. */
export function controlFiles(directory: string): ControlFiles {
  const path = join(directory, "phase");
  const own = statSync("/proc/self/ns/pid").ino;
  const check = () => {
    if (!existsSync(directory))
      throw new UserError("NO_CONTROL", `The control directory ${directory} is not there.`);
  };
  check();
  return {
    mark() {
      const found = statSync(path, { bigint: true, throwIfNoEntry: false });
      if (!found) check();
      return found && `${found.ino} ${found.mtimeNs}`;
    },
    phase: () => readFileSync(path, "utf8"),
    alive(pid, namespace = own) {
      if (namespace !== own) return true;
      try {
        process.kill(pid, 0);
        return true;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== "ESRCH";
      }
    },
    write(file, text) {
      const whole = join(directory, file);
      const fresh = `${whole}.${process.pid}.new`;
      writeFileSync(fresh, text);
      renameSync(fresh, whole);
    },
  };
}
