// kubelet finds one socket in its folder of plugins, and sends claims to the other.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import { DRIVER } from "../labels/names.ts";
import { type Served, serveAt } from "./kubelet/sockets.ts";
import { type ClaimName, DraPlugin, type PreparedDevice, Registration } from "./kubelet/wire.ts";
import { type Preparing, prepare } from "./plugin.ts";

export interface Driver {
  keepOpen(): Promise<void>;
  close(): void;
}

export async function serveDriver(
  kubelet: string,
  on: Preparing,
  say: (line: string) => void,
): Promise<Driver> {
  const endpoint = join(kubelet, "plugins", DRIVER, "dra.sock");
  const registry = join(kubelet, "plugins_registry", `${DRIVER}-reg.sock`);
  const turns = new Turns();
  const eachClaim = async (
    claims: readonly ClaimName[],
    one: (claim: ClaimName) => Promise<object>,
  ) =>
    Object.fromEntries(
      await Promise.all(
        claims.map(async (claim) => {
          try {
            // kubelet may ask again before the first answer.
            return [claim.uid, await turns.take(claim.uid, () => one(claim))] as const;
          } catch (error) {
            const why = error instanceof Error ? error.message : String(error);
            say(`${claim.namespace}/${claim.name}: ${why}`);
            return [claim.uid, { error: why }] as const;
          }
        }),
      ),
    );
  const plugin = {
    NodePrepareResources: answering(async ({ claims }: { claims: readonly ClaimName[] }) => ({
      claims: await eachClaim(claims, async (claim) => {
        const devices: readonly PreparedDevice[] = await prepare(claim, on);
        say(`prepared ${claim.namespace}/${claim.name}`);
        return { devices };
      }),
    })),
    NodeUnprepareResources: answering(async ({ claims }: { claims: readonly ClaimName[] }) => ({
      claims: await eachClaim(claims, async ({ uid, namespace, name }) => {
        on.claims.remove(uid);
        say(`unprepared ${namespace}/${name}`);
        return {};
      }),
    })),
  };
  const registration = {
    GetInfo: answering(async () => ({
      type: "DRAPlugin",
      name: DRIVER,
      endpoint,
      supportedVersions: ["v1.DRAPlugin"],
    })),
    NotifyRegistrationStatus: answering(
      async ({ pluginRegistered, error }: { pluginRegistered: boolean; error: string }) => {
        say(pluginRegistered ? "kubelet knows the driver" : `kubelet refuses the driver: ${error}`);
        return {};
      },
    ),
  };
  const open: Served[] = [];
  const openAll = async () => {
    for (const served of open.splice(0)) served.close();
    // The second first: kubelet asks there as soon as it has seen the other.
    open.push(await serveAt(endpoint, [[DraPlugin, plugin]]));
    open.push(await serveAt(registry, [[Registration, registration]]));
  };
  await openAll();
  return {
    async keepOpen() {
      if (!existsSync(endpoint) || !existsSync(registry)) await openAll();
    },
    close: () => {
      for (const served of open.splice(0)) served.close();
    },
  };
}

function answering<Q, A>(answer: (question: Q) => Promise<A>) {
  return (call: ServerUnaryCall<Q, A>, done: sendUnaryData<A>) => {
    answer(call.request).then(
      (value) => done(null, value),
      (error: Error) => done(error),
    );
  };
}

class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = (async () => {
      await before?.catch(() => {}); // told to who asked
      return await run();
    })();
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
