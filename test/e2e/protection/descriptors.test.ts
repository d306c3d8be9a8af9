// A daemon closes all descriptors above 2 after CUDA has started, the connection to the agent among them.
import { expect, test } from "vitest";
import { service, training, victim } from "../faults.ts";
import { eventually, startMachine } from "../machine.ts";

const sentence = "this program has closed descriptors that it did not open";

test.each(["high", "best-effort"] as const)(
  "a %s client that has closed all descriptors gets a slot again",
  async (kind) => {
    const machine = await startMachine();
    const isHigh = kind === "high";
    const other = machine.load(isHigh ? "best-effort" : "high", isHigh ? training : service);
    await other.serving;
    const daemon = await machine.native(kind, [victim, "daemon"]);
    await daemon.said("victim: has closed all");
    await daemon.said(sentence);
    const work = async () => {
      const slot = await machine.slotOf(daemon);
      return slot === undefined ? 0 : "chunks" in slot ? slot.chunks : slot.bursts;
    };
    await eventually("it works in its new slot", async () => (await work()) > 20);
    const before = await work();
    await eventually("it works on", async () => (await work()) > before);
    await eventually("it is no stranger", async () =>
      (await machine.status()).gpus.every(({ strangers }) => strangers.length === 0),
    );
    daemon.signal("SIGKILL");
    const { signal, stderr } = await daemon.ended;
    expect(signal).toBe("SIGKILL");
    expect(stderr.split(sentence)).toHaveLength(2);
    expect((await other.finish()).result.requests).toBeGreaterThan(0);
  },
);
