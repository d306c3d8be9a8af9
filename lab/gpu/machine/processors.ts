// The SMs: which kernel holds how many, and how fast each kernel runs.
//
// A kernel asks for room for its blocks (room.ts), counted in SMs that they fill. The kernel of the highest priority
// is served first, then the one that waited longest. No other is served while the first could still start blocks. A
// running block is never interrupted. A kernel that still has blocks to start gives SMs to a higher priority as its
// blocks end, evenly spread over the time of a block. Otherwise it gives them when it ends. With all SMs that it
// wants, a kernel takes the time of its profile. With fewer, it takes as many more waves as its blocks need.
import { type Capacity, COMPUTE, contend, DRAM, L2, RESOURCES } from "./contention.ts";
import type { Crowding } from "./crowding.ts";
import { roomFor, smsUnder } from "./room.ts";
import { RUNNING, type Stream, WAITING } from "./stream.ts";

const NOTHING = 0;
const FINISH = 1;
/** The last wave of a kernel begins: it needs fewer SMs. */
const TAIL = 2;
/** The SMs that a kernel of higher priority waits for are free. */
const CLAIM = 3;

/** The part of a kernel's blocks that must end for another to begin is found to this precision. */
const FINEST = 1 / 64;
/** The part of an SM's issue slots that a kernel gets beside others that use all of them; nearly nothing. */
const MIN_ISSUE = 0.02;
/** Fewer SMs than this count as none. A block is always more. */
const MIN_SMS = 1e-6;

const NONE: Stream | undefined = undefined;

export class Processors {
  readonly total: number;
  /** The SM clock now; undefined where it is not modelled. */
  clockMHz: number | undefined;
  /** The time of the next event here, its kind, and its stream. */
  nextAt = Number.POSITIVE_INFINITY;
  nextWhat = NOTHING;
  nextStream: Stream | undefined = NONE;
  // Sums over time: ns times a part of the whole GPU.
  busyNs = 0;
  heldNs = 0;
  computeNs = 0;
  /** `computeNs`, weighted with the power that each job's compute draws. */
  drawnNs = 0;
  dramNs = 0;

  readonly #capacity: Capacity;
  readonly #crowding: Crowding;
  readonly #running: Stream[] = [];
  /** Sorted by priority, then by order. */
  readonly #waiting: Stream[] = [];
  #settledAt = 0;
  /** SMs per ns that become free for the claimant. */
  #flow = 0;
  #claimed = 0;
  #begun = 0;
  #claimant: Stream | undefined = NONE;

  constructor(total: number, capacity: Capacity, crowding: Crowding, clockMHz: number | undefined) {
    this.total = total;
    this.#crowding = crowding;
    this.#capacity = capacity;
    this.clockMHz = clockMHz;
  }

  /** Updates the progress of all kernels to `now`. Must be called before any change. */
  settle(now: number): void {
    const passed = now - this.#settledAt;
    if (passed <= 0) return;
    this.#settledAt = now;
    const running = this.#running;
    if (running.length === 0) return;
    this.busyNs += passed;
    let held = 0;
    for (let i = 0; i < running.length; i++) {
      const stream = running[i] as Stream;
      stream.progress += stream.rate * passed;
      held += stream.sms;
      const part = passed / stream.slowdown;
      const compute = (stream.need[COMPUTE] as number) * part;
      this.computeNs += compute;
      this.drawnNs += compute * stream.plan.drawn;
      this.dramNs += (stream.need[DRAM] as number) * part;
    }
    this.heldNs += (held / this.total) * passed;
    if (this.#claimant) this.#claimant.gained += this.#flow * passed;
  }

  /** Whether any stream runs or waits. */
  get shared(): boolean {
    return this.#running.length + this.#waiting.length > 0;
  }

  wait(stream: Stream): void {
    const waiting = this.#waiting;
    let at = waiting.length;
    while (at > 0 && before(stream, waiting[at - 1] as Stream)) {
      waiting[at] = waiting[at - 1] as Stream;
      at--;
    }
    waiting[at] = stream;
  }

  /** The context of the stream continues where it was interrupted. */
  goOn(stream: Stream): void {
    this.#running.push(stream);
  }

  /** The context is taken off the SMs. Its kernels keep their progress. */
  clear(): void {
    this.#running.length = 0;
    this.#waiting.length = 0;
    this.#claimant = NONE;
    this.nextAt = Number.POSITIVE_INFINITY;
  }

  /** Handles the event of `nextAt`. Returns the stream whose kernel finished, if one did. */
  happen(): Stream | undefined {
    const stream = this.nextStream as Stream;
    if (this.nextWhat === FINISH) {
      stream.progress = stream.waves;
      drop(this.#running, stream);
      return stream;
    }
    if (this.nextWhat === TAIL) stream.progress = stream.waves - 1;
    else this.#handOver(stream);
    return NONE;
  }

  /** Must be called after every change. Gives SMs out, sets speeds, and sets the next event. */
  resolve(now: number): void {
    const running = this.#running;
    const alone = running.length + this.#waiting.length < 2;
    if (!alone) for (let i = 0; i < running.length; i++) releaseTail(running[i] as Stream);
    let next = this.#neediest();
    while (next) {
      const room = roomFor(next, running, this.total);
      if (room < MIN_SMS) break;
      this.#give(next, Math.min(room, wantedSms(next)));
      next = this.#neediest();
    }
    this.#claim(next);
    const lonely = running.length + this.#waiting.length < 2;
    this.#setSpeeds(lonely);
    this.#planNext(now, lonely);
  }

  /** The stream that gets the next free SM. */
  #neediest(): Stream | undefined {
    let best = this.#waiting[0];
    for (let i = 0; i < this.#running.length; i++) {
      const stream = this.#running[i] as Stream;
      if (stream.waves <= 1 && stream.aligned) continue;
      if ((!best || before(stream, best)) && wantedSms(stream) > 0) best = stream;
    }
    return best;
  }

  #give(stream: Stream, sms: number): void {
    if (stream.state === WAITING) {
      drop(this.#waiting, stream);
      stream.state = RUNNING;
      stream.began = ++this.#begun;
      stream.progress = 0;
      stream.gained = 0;
      stream.begin(sms);
      this.#running.push(stream);
    } else {
      const all = stream.pending <= sms;
      stream.continueOn(stream.sms + sms);
      // The blocks that begin now take a whole wave. If no others are left, the kernel takes no more.
      stream.aligned = all;
      if (all || stream.waves < 1) {
        stream.waves = Math.max(1, stream.units / stream.sms);
        stream.least = stream.waves;
      }
    }
  }

  /** Kernels of lower priority that still have blocks to start make room as their blocks end. */
  #claim(claimant: Stream | undefined): void {
    if (this.#claimant && this.#claimant !== claimant) this.#claimant.gained = 0;
    this.#claimant = NONE;
    this.#flow = 0;
    if (!claimant) return;
    let yielding = 0;
    for (let i = 0; i < this.#running.length; i++) {
      const stream = this.#running[i] as Stream;
      stream.leaves = yields(stream, claimant);
      if (stream.leaves) yielding += stream.sms;
    }
    const most = yielding > 0 ? roomFor(claimant, this.#running, this.total, 1) : 0;
    if (most < MIN_SMS) return;
    this.#claimant = claimant;
    this.#claimed = yielding * this.#partToLeave(claimant, Math.min(wantedSms(claimant), most));
  }

  /** The smallest part of the yielding blocks that must end for the goal, or for as much room as there can be. */
  #partToLeave(claimant: Stream, goal: number): number {
    let enough = 1;
    for (let step = 0.5; step >= FINEST; step /= 2) {
      const room = roomFor(claimant, this.#running, this.total, enough - step);
      if (room >= goal - MIN_SMS) enough -= step;
    }
    return enough;
  }

  /** All kernels of lower priority give the same part of their SMs. */
  #handOver(claimant: Stream): void {
    const running = this.#running;
    let yielding = 0;
    for (let i = 0; i < running.length; i++) {
      const stream = running[i] as Stream;
      if (yields(stream, claimant)) yielding += stream.sms;
    }
    const kept = Math.max(0, 1 - this.#claimed / yielding);
    for (let i = running.length - 1; i >= 0; i--) {
      const victim = running[i] as Stream;
      if (!yields(victim, claimant)) continue;
      victim.continueOn(victim.sms * kept);
      if (victim.sms * victim.perSm > MIN_SMS) continue;
      victim.continueOn(0);
      drop(running, victim);
      victim.state = WAITING;
      this.wait(victim);
    }
    claimant.gained = 0;
    const room = Math.min(roomFor(claimant, running, this.total), wantedSms(claimant));
    if (room >= MIN_SMS) this.#give(claimant, room);
  }

  #setSpeeds(alone: boolean): void {
    const running = this.#running;
    for (let i = 0; i < running.length; i++) {
      const stream = running[i] as Stream;
      const { need, plan, code, sms, smLimit } = stream;
      const at = code * RESOURCES;
      const blockTime = this.#crowding.time(plan, code, sms, smLimit) / stream.soloCrowding;
      let waveTime = blockTime;
      // The SMs draw in proportion to the blocks that they run.
      let scale = stream.units / stream.waves / stream.soloUnits / blockTime;
      if (alone && stream.aligned) {
        // While a kernel is alone, each of its waves takes and draws the mean of all.
        const mean = this.#crowding.mean(plan, code, stream.units, sms, smLimit);
        waveTime *= mean;
        scale *= stream.soloMean / mean;
      }
      const compute = plan.need[at + COMPUTE] as number;
      const dram = plan.need[at + DRAM] as number;
      const l2 = plan.need[at + L2] as number;
      let clock = 1;
      if (this.clockMHz !== undefined && plan.referenceMHz !== undefined) {
        const bound = compute / Math.max(compute, dram, l2, 1e-9);
        clock = 1 + bound * (plan.referenceMHz / this.clockMHz - 1);
      }
      // A kernel that ends sooner on fewer SMs than on all still draws no more than DRAM gives, or its profile says.
      const drawn = (dram * scale) / clock;
      const longer = Math.max(1, drawn / Math.max(dram, this.#capacity[DRAM]));
      need[COMPUTE] = (compute * scale) / longer;
      need[DRAM] = drawn / longer;
      need[L2] = (l2 * scale) / clock / longer;
      stream.slowdown = 1;
      stream.rate = 1 / (stream.waveNs * waveTime * clock * longer);
    }
    if (running.length < 2) return;
    for (let i = 0; i < running.length; i++) this.#yieldIssue(running[i] as Stream);
    contend(running, running.length, this.#capacity);
    for (let i = 0; i < running.length; i++) {
      const stream = running[i] as Stream;
      stream.rate /= stream.slowdown;
    }
  }

  /**
   * On an SM, older warps issue first. Blocks that share an SM with blocks of an earlier kernel get the issue slots
   * that those leave. In its last wave a kernel ends with its slowest block.
   */
  #yieldIssue(stream: Stream): void {
    let older = 0;
    let units = 0;
    let covered = 0;
    for (let i = 0; i < this.#running.length; i++) {
      const other = this.#running[i] as Stream;
      if (other === stream || !issuesBefore(other, stream)) continue;
      older += other.need[COMPUTE] as number;
      units += other.sms;
      covered += smsUnder(other);
    }
    if (older === 0) return;
    covered = Math.min(this.total, covered);
    // Blocks go to empty SMs until those are as full as the others.
    const shared = 1 - ((this.total - covered) * Math.min(1, units / covered)) / stream.sms;
    if (shared <= 1e-6) return;
    const left = Math.max(MIN_ISSUE, 1 - (older * this.total) / covered);
    const wanted = ((stream.need[COMPUTE] as number) * this.total) / smsUnder(stream);
    if (wanted <= left) return;
    const each = wanted / left;
    const slower = stream.waves >= 2 ? 1 / (1 - shared + shared / each) : each;
    stream.rate /= slower;
    for (let r = 0; r < RESOURCES; r++) stream.need[r] = (stream.need[r] as number) / slower;
  }

  #planNext(now: number, alone: boolean): void {
    this.nextAt = Number.POSITIVE_INFINITY;
    this.nextWhat = NOTHING;
    this.nextStream = NONE;
    let flow = 0;
    const claimant = this.#claimant;
    for (let i = 0; i < this.#running.length; i++) {
      const stream = this.#running[i] as Stream;
      const tail = !alone && hasTail(stream);
      const goal = tail ? stream.waves - 1 : stream.waves;
      const at = now + Math.max(0, goal - stream.progress) / stream.rate;
      if (at < this.nextAt) {
        this.nextAt = at;
        this.nextWhat = tail ? TAIL : FINISH;
        this.nextStream = stream;
      }
      if (claimant && yields(stream, claimant)) flow += stream.sms * stream.rate;
    }
    this.#flow = flow;
    if (!claimant || flow === 0) return;
    const at = now + Math.max(0, this.#claimed - claimant.gained) / flow;
    if (at >= this.nextAt) return;
    this.nextAt = at;
    this.nextWhat = CLAIM;
    this.nextStream = claimant;
  }
}

const before = (a: Stream, b: Stream): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.order < b.order);

const yields = (stream: Stream, claimant: Stream): boolean =>
  stream.priority < claimant.priority && stream.pending > 0;

/**
 * Whether a's blocks on an SM are older than b's. They are not if they end soon and more of a's blocks follow, because
 * those begin later than b's.
 */
function issuesBefore(a: Stream, b: Stream): boolean {
  const [first, second] = a.began < b.began ? [a, b] : [b, a];
  const renewed = first.pending > 0 && first.waveNs < second.waveNs;
  return renewed === (first === b);
}

/** The SMs that the stream could use in addition now. */
function wantedSms(stream: Stream): number {
  if (stream.state === WAITING) return Math.min(inBlocks(stream, stream.units), stream.smLimit);
  return Math.min(inBlocks(stream, stream.pending), stream.smLimit - stream.sms);
}

/** A number of units, rounded up to whole blocks. */
const inBlocks = ({ perSm }: Stream, units: number): number =>
  Math.ceil(units * perSm - 1e-6) / perSm;

const hasTail = (stream: Stream): boolean =>
  stream.waves > 1 &&
  stream.progress < stream.waves - 1 - 1e-9 &&
  stream.units < stream.sms * stream.waves;

function releaseTail(stream: Stream): void {
  if (stream.waves <= 1 || stream.progress < stream.waves - 1 - 1e-9) return;
  const left = stream.units - stream.sms * (stream.waves - 1);
  stream.progress = Math.max(0, stream.progress - (stream.waves - 1));
  stream.units = Math.max(0, left);
  stream.sms = Math.min(stream.sms, Math.max(1 / stream.perSm, inBlocks(stream, left)));
  stream.waves = 1;
  stream.least = 1;
}

function drop(list: Stream[], stream: Stream): void {
  let at = list.indexOf(stream);
  if (at < 0) return;
  for (; at < list.length - 1; at++) list[at] = list[at + 1] as Stream;
  list.length--;
}
