import { ms } from "#core";
import { AdaptivePoller } from "./adaptive-poller.ts";
import { withoutRepeats } from "./log/log.ts";
import { Sleepers } from "./memory/index.ts";
import type { Opened } from "./opened.ts";
import type { AgentOptions } from "./options.ts";
import type { Parts } from "./parts.ts";
import { describeIdentity } from "./tenants/index.ts";
import { strangerReporter, WARN } from "./untracked/index.ts";

const POLICY_PERIOD = ms(250);
const HEALING_PERIOD = ms(1000);
const GRANTS_PERIOD = ms(1000);
const REQUESTS_PERIOD = ms(250);
/** It comes after the policy's period, so that its final decision is logged. */
const CHANGES_PERIOD = ms(1000);
const MPS_PERIOD = ms(5000);
/** Best-effort work may have to be held. MuxFlow collects "in the millisecond level". */
const HEALTH_PERIOD = ms(100);
const QUIET_HEALTH_PERIOD = ms(1000);
/** A refused allocation waits 2 s for memory of others, and 250 ms until it hears of it. */
const REFUSED_PERIOD = ms(20);
const MEMORY_PERIOD = ms(100);
/** An untracked process is reported when it was there at two readings. */
const SENSOR_PERIOD = ms(400);

export class Rounds {
  readonly #parts: Parts;
  readonly #options: AgentOptions;
  readonly #opened: Opened;
  readonly #refused: AdaptivePoller;
  readonly #readings: AdaptivePoller;

  /** It is made before the listener opens: clients are noted until it is closed. */
  constructor(parts: Parts, options: AgentOptions, opened: Opened) {
    const { clock } = options;
    this.#parts = parts;
    this.#options = options;
    this.#opened = opened;
    this.#refused = new AdaptivePoller(clock, REFUSED_PERIOD, () =>
      parts.room.look(parts.registry.gpus),
    );
    this.#readings = new AdaptivePoller(clock, HEALTH_PERIOD, () => {
      parts.lookAtHealth();
      return this.#isShared();
    });
    opened.add(
      () => this.#refused.close(),
      () => this.#readings.close(),
    );
  }

  noteChange(stopsKernels: boolean): void {
    const isShared = this.#isShared();
    this.#parts.queue?.keepOne(stopsKernels && isShared);
    if (!isShared) return;
    this.#refused.noteComer();
    this.#readings.look();
  }

  #isShared(): boolean {
    return this.#parts.registry.gpus.some(({ clients }) =>
      clients.some((one) => one.class === "best-effort"),
    );
  }

  begin(): void {
    const { registry, admission, requests, mps, watch, changes, log, guardHost } = this.#parts;
    const { clock } = this.#options;
    const lookAtSensor = this.#sensorLook();
    const sleepers = new Sleepers(log);
    this.#opened.add(
      clock.every(POLICY_PERIOD, () => this.#decide()),
      clock.every(QUIET_HEALTH_PERIOD, () => this.#readings.look()),
      clock.every(MEMORY_PERIOD, () => this.#refused.look()),
      clock.every(HEALING_PERIOD, () => registry.heal()),
      clock.every(GRANTS_PERIOD, () => admission.look()),
      clock.every(REQUESTS_PERIOD, () => void requests.ask(registry.gpus)),
      clock.every(SENSOR_PERIOD, lookAtSensor),
      clock.every(MPS_PERIOD, () => void mps?.check()),
      clock.every(CHANGES_PERIOD, () => sleepers.note(registry.gpus)),
      clock.every(CHANGES_PERIOD, () => guardHost(registry.gpus)),
      clock.every(CHANGES_PERIOD, () => changes.note(watch.statuses.standings(registry.gpus))),
    );
  }

  #decide(): void {
    const { registry, watch, history, log } = this.#parts;
    const ignored = watch.lookAndDecide(registry.gpus);
    history.note(registry.gpus, this.#options.clock.now());
    for (const { gpu, client, usedShare } of ignored) {
      const { pid, name: called, slot, identity } = client;
      const of = identity ? { of: describeIdentity(identity) } : {};
      const because = `its kernels ran in ${Math.round(100 * usedShare)} % of a pause`;
      log("hold ignored", { client: called, pid, slot, gpu, ...of, because });
    }
  }

  #sensorLook(): () => void {
    const { registry, watch, room, log } = this.#parts;
    const { onUntracked = WARN, env } = this.#options;
    const logOnce = withoutRepeats(log);
    const reportStranger = strangerReporter(onUntracked, env, log);
    return () => {
      watch.readSensor();
      room.keepReserve(registry.gpus);
      for (const stranger of watch.unreportedProcesses(registry.gpus)) reportStranger(stranger);
      for (const { gpu, agentPid = 0 } of watch.clientsOfOthers(registry.gpus))
        logOnce("another agent", {
          gpu,
          pid: agentPid,
          because: "it has clients on this GPU, too",
        });
    };
  }
}
