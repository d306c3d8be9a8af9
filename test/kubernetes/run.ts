// `npm run kubernetes`: a cluster for a person to try things on, until Ctrl-C. With the word `machines` its nodes run
// containers, which needs root, and with `bare` they do so without Cotenant.
import { type Cluster, startCluster } from "./cluster.ts";
import { installCotenant } from "./cotenant.ts";
import { startBare } from "./machines/bare.ts";
import { type Cotenant, softGpu, startCotenant } from "./machines/cotenant.ts";
import { IMAGE } from "./machines/image.ts";
import { type Machine, startMachine } from "./machines/machine.ts";
import { whyNoMachines } from "./machines/pods.ts";
import { addNodes } from "./nodes.ts";
import { programFolders } from "./programs.ts";

const nodes = ["node-1", "node-2"];
const GPUS = 8;

async function main(): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, resolve);
  });
  const [word] = process.argv.slice(2);
  if (word !== undefined && word !== "machines" && word !== "bare")
    throw new Error(`"${word}" is not known: say machines, bare, or nothing.`);
  const played = word === undefined;
  const why = played ? undefined : whyNoMachines();
  if (why !== undefined) throw new Error(`No containers can run here: ${why}.`);
  const folders = programFolders(true);
  console.error(
    "Starts etcd, the API server, the controller manager, the scheduler and the nodes ...",
  );
  const cluster = await startCluster(folders, { played });
  const machines: Machine[] = [];
  const parts: Cotenant[] = [];
  let stopBare: (() => Promise<void>) | undefined;
  try {
    if (played) await addNodes(cluster, nodes, { gpus: GPUS });
    else if (word === "bare") stopBare = await startBare(cluster, folders, nodes);
    else await addMachines(cluster, folders, machines, parts);
    console.log(`export KUBECONFIG=${cluster.kubeconfig}`);
    console.log(`export PATH="${folders}:$PATH"`);
    console.error(
      word === "bare"
        ? `${nodes[0]} has a software GPU, and no Cotenant is there: docs/guide/kubernetes.md, with --gpu soft. Images come from a registry at localhost.`
        : played
          ? `${nodes.join(" and ")} have ${GPUS} GPUs each. kwok plays them: pods are said to run, and no container does.`
          : `${nodes.join(" and ")} have a software GPU each, an agent and Cotenant's node part. Pods need hostNetwork: true; ` +
            `the one image is ${IMAGE}, which holds nothing but /pause.`,
    );
    console.error(`Logs are in ${cluster.folder}. Ctrl-C ends the cluster and removes it.`);
    await asked;
  } finally {
    for (const part of parts) part.stop();
    await stopBare?.();
    for (const machine of machines) await machine.stop();
    await cluster.stop();
  }
}

async function addMachines(
  cluster: Cluster,
  folders: string,
  machines: Machine[],
  parts: Cotenant[],
): Promise<void> {
  await installCotenant(cluster);
  for (const [i, name] of nodes.entries()) {
    const machine = await startMachine(cluster, folders, name, true);
    machines.push(machine);
    parts.push(await startCotenant(cluster, machine, softGpu(i + 1)));
  }
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
