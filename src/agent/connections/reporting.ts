import type { Socket } from "node:net";
import { errors } from "#core";
import { type Hello, type View, welcomeStatus } from "#protocol";
import { errorIn } from "../gpus/applicant.ts";
import { type Registry, type Reply, refusal } from "../gpus/registry.ts";
import type { Reporters } from "../reporters/reporters.ts";
import { printable } from "../system/index.ts";
import type { Identity } from "../tenants/index.ts";
import { WaitingRoom } from "./waiting-room.ts";

// With more of them, the user with most loses the oldest. Each costs two descriptors and 128 KiB.
const MAX_REPORTERS = 64;

export function reporting(registry: Registry, reporters: Reporters) {
  const room = new WaitingRoom(MAX_REPORTERS);
  return (socket: Socket, hello: View<typeof Hello>, identity: Identity): Reply => {
    const reason = errorIn(hello) ?? registry.refusalOf(identity);
    if (reason !== undefined) return refusal(reason);
    const { pid } = identity;
    const { startTime, name } = hello;
    try {
      const reporter = reporters.add({ pid, startTime, name: printable(name), identity });
      socket.once("close", () => reporters.remove(reporter));
      room.enter(socket, identity.uid);
      const { fd } = reporter;
      return { status: welcomeStatus.ok, slot: -1, files: [fd], reason: "", stays: true };
    } catch (error) {
      return refusal(`The agent can't make memory for these reports: ${errors.whyOf(error)}.`);
    }
  };
}
