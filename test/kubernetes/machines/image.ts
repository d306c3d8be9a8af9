// One image for all containers of tests, made of nothing but mount points and a program that waits: no registry is needed.
// Pods mount the machine's programs and this package, as containers in test/containers do.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "#core";
import { makeRoot } from "../../containers/image.ts";

export const IMAGE = "cotenant.test/base:1";

/** Where pods find this package. */
export const PACKAGE = "/cotenant";

/** Folders of the machine that a container needs to run `cotenant`. */
export const machineFolders = (): readonly { readonly from: string; readonly to: string }[] => {
  const node = dirname(dirname(process.execPath));
  return [
    { from: "/usr", to: "/usr" },
    { from: packageRoot(), to: PACKAGE },
    ...(node.startsWith("/usr") ? [] : [{ from: node, to: node }]),
  ];
};

/** The process of a pod's sandbox: it reaps, and ends when it is told to. */
const PAUSE = `
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int signal) { _exit(signal == SIGTERM || signal == SIGINT ? 0 : 1); }
static void reap(int signal) { (void)signal; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
`;

function compilePause(out: string, source: string): void {
  writeFileSync(source, PAUSE);
  execFileSync("g++", ["-x", "c", "-static", "-O1", "-o", out, source]);
}

/**
 * Makes the image in `folder` as an OCI archive, which \`ctr images import\` reads; returns its path. `env`: more of its
 * variables, NAME=VALUE.
 */
export function makeImage(folder: string, env: readonly string[] = []): string {
  const root = makeRoot(join(folder, "root"));
  for (const { to } of machineFolders()) mkdirSync(join(root, to), { recursive: true });
  // A machine without a compiler is given the program.
  const compiled = process.env.COTENANT_PAUSE;
  if (compiled === undefined) compilePause(join(root, "pause"), join(folder, "pause.c"));
  else copyFileSync(compiled, join(root, "pause"));
  const blobs = join(folder, "oci/blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const layer = join(folder, "layer.tar");
  execFileSync("tar", ["--create", "--numeric-owner", "--file", layer, "--directory", root, "."]);
  const put = (content: Buffer | string) => {
    const digest = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(blobs, digest), content);
    return { digest: `sha256:${digest}`, size: statSync(join(blobs, digest)).size };
  };
  const tar = put(readFileSync(layer));
  const config = put(
    JSON.stringify({
      ...{
        architecture: "amd64",
        os: "linux",
        config: { Entrypoint: ["/pause"], Env: ["PATH=/usr/bin:/bin", ...env] },
      },
      rootfs: { type: "layers", diff_ids: [tar.digest] },
    }),
  );
  const manifest = put(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: { mediaType: "application/vnd.oci.image.config.v1+json", ...config },
      layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...tar }],
    }),
  );
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        ...manifest,
        annotations: { "io.containerd.image.name": IMAGE },
      },
    ],
  };
  writeFileSync(join(folder, "oci/index.json"), JSON.stringify(index));
  writeFileSync(join(folder, "oci/oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  const archive = join(folder, "image.tar");
  execFileSync("tar", ["--create", "--file", archive, "--directory", join(folder, "oci"), "."]);
  return archive;
}
