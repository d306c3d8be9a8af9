// A container's mounts name folders of the machine. Programs that run keep the file that they have.
import { copyFileSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type HostFiles, hostFiles } from "#client";

const ON_HOST = "/opt/cotenant";

/** `folder` is where that folder is here. Throws a UserError if the files are not built. */
export function installOnHost(folder: string, gpu: "nvidia" | "soft"): HostFiles {
  const own = hostFiles(gpu);
  const put = (from: string, below: string) => {
    const path = join(folder, below, basename(from));
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    copyFileSync(from, `${path}.new`);
    renameSync(`${path}.new`, path);
    return join(ON_HOST, below, basename(from));
  };
  const { softGpu } = own;
  if (softGpu !== undefined)
    for (const name of readdirSync(softGpu))
      if (statSync(join(softGpu, name)).isFile()) put(join(softGpu, name), "softgpu");
  return {
    library: put(own.library, "lib"),
    assemblers: own.assemblers.map((one) => ({ ...one, path: put(one.path, "lib") })),
    softGpu: softGpu === undefined ? undefined : join(ON_HOST, "softgpu"),
  };
}
