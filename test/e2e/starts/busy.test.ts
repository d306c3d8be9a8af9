// An agent that gets no CPU time for a while: who comes meanwhile is told so, and becomes a client when it goes on.
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { helloBytes } from "../../agent/fakes.ts";
import { cotenantItself, type Machine, startMachine } from "../machine.ts";
import { SOFT_GPU } from "../tenants/shared-machine.ts";

const forever = ["load", "--arrivals", "closed", "--seconds", "3600"];
const briefly = ["load", "--arrivals", "closed", "--seconds", "0.3", "--warmup", "0.1", "--json"];

/** A stopped agent: it accepts what the kernel's queue takes, and answers nothing. Returns what lets it go on. */
function stall(machine: Machine): () => void {
  const { pid } = machine.agent();
  process.kill(pid, "SIGSTOP");
  return () => void process.kill(pid, "SIGCONT");
}

/** Clients that ask for a slot and end before they are answered. */
async function comeAndGo(path: string, count: number) {
  for (let i = 0; i < count; i++) {
    const socket = connect(path);
    await once(socket, "connect");
    await new Promise((resolve) =>
      socket.write(helloBytes({ name: "gone", gpu: SOFT_GPU }), resolve),
    );
    socket.destroy();
    await once(socket, "close");
  }
}

describe("an agent that stands still", () => {
  test("attaches a service that came meanwhile, and none of those that are gone", async () => {
    const machine = await startMachine();
    await machine.native("high", ["true"]); // learns the environment
    const goOn = stall(machine);
    await comeAndGo(machine.agent().socket, 200);
    const service = await machine.native("high", [...cotenantItself, ...forever]);
    await service.said(" is busy: it has not answered within 500 ms.");
    goOn();
    await service.said("the agent has answered: this high client is protected now.");
    expect(await machine.slotOf(service)).toBeDefined();
    const { stdout: events } = await machine.cotenant(["events", "--json"]);
    expect(events).not.toContain('"client":"gone"');
    service.signal("SIGTERM");
    expect((await service.ended).stderr).not.toContain("start one");
  });

  test("lets a best-effort job wait before its start, which says why", async () => {
    const machine = await startMachine();
    const { pid } = machine.agent();
    const goOn = stall(machine);
    const job = machine.run("best-effort", [...cotenantItself, ...briefly]);
    await job.said(`waits before its start: The agent (pid ${pid}) is busy: it does not answer.`);
    goOn();
    const { status, stdout } = await job.ended;
    expect({ status, intact: JSON.parse(stdout).intact }).toEqual({ status: 0, intact: true });
  });
});
