// The cluster of a test file, and whether this machine can have one.
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll } from "vitest";
import { type Cluster, startCluster } from "./cluster.ts";
import { programFolders } from "./programs.ts";

/** Why there can be no cluster here; undefined where there can. */
export function whyNot(): string | undefined {
  for (const tool of ["openssl", "setpriv"])
    if (spawnSync(tool, ["--version"]).error !== undefined) return `${tool} is missing`;
  try {
    programFolders(false);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A cluster for all tests of a file. `prepare` is called once, when it runs. */
export function clusterHere(prepare: (cluster: Cluster) => Promise<void>): () => Cluster {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster(programFolders(false));
    await prepare(cluster);
  });
  afterAll(async () => cluster?.stop());
  return () => {
    if (cluster === undefined) throw new Error("the cluster has not started");
    return cluster;
  };
}
