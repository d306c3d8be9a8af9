// kubelet may ask for both again at any time, also after a restart of it or of this process.
import type { ContainerEdits } from "#client";
import type { Api } from "../api/client.ts";
import { quantity } from "../api/quantity.ts";
import { DRIVER } from "../labels/names.ts";
import { cdiName, type PreparedClaim, type PreparedClaims } from "./claims.ts";
import type { ClaimName, PreparedDevice } from "./kubelet/wire.ts";
import { deviceName } from "./slice.ts";
import type { AllocatedClaim } from "./state/objects.ts";

export interface Preparing {
  readonly api: Api;
  readonly node: string;
  readonly claims: PreparedClaims;
  readonly gpus: () => readonly string[];
  readonly edits: (claim: Omit<PreparedClaim, "devices">) => ContainerEdits;
  readonly vendorDevices: (gpu: string) => readonly string[];
}

/** Rejects with a sentence. The answer for a claim stays the same. */
export async function prepare(
  { namespace, uid, name }: ClaimName,
  on: Preparing,
): Promise<readonly PreparedDevice[]> {
  const known = on.claims.get(uid);
  if (known) return known.devices;
  const path = `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims/${name}`;
  const claim = await on.api.get<AllocatedClaim>(path);
  const what = `the claim ${namespace}/${name}`;
  if (claim.metadata.uid !== uid)
    throw new Error(`${what} is another one now: its UID is ${claim.metadata.uid}, not ${uid}`);
  const results = (claim.status?.allocation?.devices?.results ?? []).filter(
    ({ driver, pool }) => driver === DRIVER && pool === on.node,
  );
  const [result, more] = results;
  if (!result) throw new Error(`${what} has no device of ${DRIVER} on this node`);
  if (more) throw new Error(`${what} has ${results.length} GPUs: a best-effort pod may have one`);
  const gpu = on.gpus().find((uuid) => deviceName(uuid) === result.device);
  if (gpu === undefined)
    throw new Error(`${what} is for the device ${result.device}, which this node has not`);
  const [pod, other] = claim.status?.reservedFor ?? [];
  if (pod?.resource !== "pods" || other)
    throw new Error(
      `${what} is to be reserved for one pod, and is for ${other ? "several" : "none"}`,
    );
  const prepared = {
    ...{ namespace, uid, name, gpu },
    podUid: pod.uid,
    podName: pod.name,
    memoryBytes: quantity(result.consumedCapacity?.memory ?? "0"),
  };
  const devices = [
    {
      requestNames: [result.request],
      poolName: result.pool,
      deviceName: result.device,
      cdiDeviceIds: [...on.vendorDevices(gpu), cdiName(uid)],
      ...(result.shareID !== undefined && { shareId: result.shareID }),
    },
  ];
  on.claims.write({ ...prepared, devices }, on.edits(prepared));
  return devices;
}

/** kubelet may have been away when claims ended. Returns the names of these. */
export async function forgetGone(api: Api, claims: PreparedClaims): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const { namespace, name, uid } of claims.all()) {
    const path = `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims/${name}`;
    const claim = await api.find<AllocatedClaim>(path);
    if (claim?.metadata.uid === uid) continue;
    claims.remove(uid);
    gone.push(`${namespace}/${name}`);
  }
  return gone;
}
