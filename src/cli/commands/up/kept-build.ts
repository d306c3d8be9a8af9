// The agent runs from a copy of the package, so that an upgrade or an uninstallation beside it changes nothing under it and its
// clients.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { keepBuild, pathsIn, type Scope } from "#agent";
import { become } from "#client";
import { errors, packageRoot } from "#core";

/** Where /run is mounted with noexec, as on Debian. */
const MACHINE_BUILDS = "/var/lib/cotenant/builds";

/** Names the package that a copy was made of, for the agent that runs from the copy. */
const ORIGIN = "COTENANT_ORIGIN";

export interface Build {
  /** The package that commands run from. */
  readonly origin: string;
  /** The copy that this process runs from; undefined: it runs from the package. */
  readonly copy: string | undefined;
}

/** Becomes an agent that runs from the copy, if this one does not and there can be a copy. */
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
