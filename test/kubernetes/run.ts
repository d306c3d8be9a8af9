// `npm run kubernetes`: a cluster for a person to try things on, until Ctrl-C.
import { startCluster } from "./cluster.ts";
import { addNodes } from "./nodes.ts";
import { programFolders } from "./programs.ts";

const nodes = ["node-1", "node-2"];
const GPUS = 8;

async function main(): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, resolve);
  });
  const folders = programFolders(true);
  console.error("Starts etcd, the API server, the controller manager, the scheduler and kwok ...");
  const cluster = await startCluster(folders);
  try {
    await addNodes(cluster, nodes, { gpus: GPUS });
    console.log(`export KUBECONFIG=${cluster.kubeconfig}`);
    console.log(`export PATH="${folders}:$PATH"`);
    console.error(
      `${nodes.join(" and ")} have ${GPUS} GPUs each. kwok plays them: pods are said to run, and no container does.\n` +
        `Logs are in ${cluster.folder}. Ctrl-C ends the cluster and removes it.`,
    );
    await asked;
  } finally {
    await cluster.stop();
  }
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
