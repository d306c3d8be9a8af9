import { onTestFinished } from "vitest";
import { admitAll, type Identify, openListener, Registry } from "#agent";
import { HandClock, identified, temporaryDirectory } from "./fakes.ts";

/** The tests' clients are all of this process, whatever pids they name. */
const anybody: Identify = (_, { pid }) => identified(pid);

/** A registry and its socket, with what is logged. */
export async function registryAtDoor(
  around: { readonly identify?: Identify } & Partial<Conditions> = {},
) {
  const { identify = anybody, ...conditions } = around;
  const clock = new HandClock();
  const logged: [event: string, fields: object | undefined][] = [];
  const registry = new Registry({
    agentPid: process.pid,
    now: () => clock.now(),
    log: (event, fields) => void logged.push([event, fields]),
    prepare: (gpu) => {
      gpu.region.memory.settings.protect = 1;
    },
    admission: admitAll,
    knows: () => true,
    ...conditions,
  });
  const path = `${temporaryDirectory()}/agent.sock`;
  const door = await openListener(path, registry, clock, () => {}, { identify });
  onTestFinished(async () => {
    await door.close();
    registry.close();
  });
  return { clock, registry, door, path, logged };
}

type Conditions = Pick<
  ConstructorParameters<typeof Registry>[0],
  "admission" | "knows" | "closedFor" | "heldFor" | "uuids"
>;
