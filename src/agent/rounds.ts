// The agent's periodic work: it samples the clients, asks the policy and writes its parameters; it checks the GPUs,
// memory and daemons, and repairs the memory that it shares with clients.
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
/** Until it is told that the file of grants has become wrong. */
const GRANTS_PERIOD = ms(1000);
/** The shortest time between two questions to a service about its requests. */
const REQUESTS_PERIOD = ms(250);
/** After the policy's period, so that what it has decided is logged as it stands. */
const CHANGES_PERIOD = ms(1000);
/** Asking the daemon starts a process. */
const MPS_PERIOD = ms(5000);
/** SysMonitor's while best-effort work is there, which it may have to hold. MuxFlow's collects "in the millisecond level". */
const HEALTH_PERIOD = ms(100);
const QUIET_HEALTH_PERIOD = ms(1000);
/** A refused allocation waits for memory of best-effort clients: 2 s, and 250 ms until it hears of it. */
const REFUSED_PERIOD = ms(20);
/** Until it is noticed that a client's memory can be moved. */
const MEMORY_PERIOD = ms(100);
/** An untracked process is told of when it was there at two readings. */
const SENSOR_PERIOD = ms(400);

export class Rounds {
  readonly #parts: Parts;
  readonly #options: AgentOptions;
  readonly #opened: Opened;
  readonly #refused: AdaptivePoller;
  readonly #readings: AdaptivePoller;

  /** To be made before the door is opened: clients are noted until it is closed. */
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

  /** Clients have come or gone. `stopsKernels`: long kernels of best-effort clients are to stop inside. */
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
