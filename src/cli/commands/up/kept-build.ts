// An upgrade or an uninstallation changes nothing under an agent that runs from a copy.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { keepBuild, pathsIn, type Scope } from "#agent";
import { become } from "#client";
import { errors, packageRoot } from "#core";

/** /run may be mounted with noexec, as on Debian. */
const MACHINE_BUILDS = "/var/lib/cotenant/builds";

const ORIGIN = "COTENANT_ORIGIN";

export interface Build {
  readonly origin: string;
  /** undefined: it runs from the package. */
  readonly copy: string | undefined;
}

export async function runFromCopy(directory: string, scope: Scope): Promise<Build> {
  const root = realpathSync(packageRoot());
  const { [ORIGIN]: origin } = process.env;
  delete process.env[ORIGIN];
  if (origin !== undefined) return { origin, copy: root };
  const program = "bin/cotenant";
  if (realpathSync(process.argv[1] ?? "/") !== join(root, program))
    return { origin: root, copy: undefined };
  const copy = copyOf(root, directory, scope);
  if (copy !== undefined) {
    const words = [...process.execArgv, join(copy, program), ...process.argv.slice(2)];
    await become(process.execPath, words, { ...process.env, [ORIGIN]: root });
  }
  return { origin: root, copy };
}

/** An agent without a copy is better than none. */
function copyOf(root: string, directory: string, scope: Scope): string | undefined {
  const open = scope === "machine";
  try {
    return (
      keepBuild(root, pathsIn(directory).builds, open) ??
      (open ? keepBuild(root, MACHINE_BUILDS, open) : undefined)
    );
  } catch (error) {
    console.error(
      `cotenant: The agent runs from ${root} itself, because no copy could be made in ${directory}: ${errors.whyOf(error)}.`,
    );
    return undefined;
  }
}
