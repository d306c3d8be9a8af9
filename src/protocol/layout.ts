// The memory that the agent and the clients of one GPU share, described once. The C++ side is
// native/generated/protocol.h, made from this file (`npm run update`).
//
// Who writes what: the agent writes `header` and `settings`; a client writes its own slot; `activity`
// and `holds` are written by every client with atomic operations. Nothing in here is trusted by a
// reader: a client checks magic, version and size when it attaches, and bounds every wait itself.
import { type RuleName, rules } from "./rules.ts";
import { bytes, i32, many, one, type ScalarField, struct, text, u32, u32s, u64 } from "./struct.ts";

export const constants = {
  /** "COTENANT" in ASCII, little-endian. */
  MAGIC: 0x544e414e45544f43n,
  VERSION: 4,
  PAGE: 4096,
  /** A bit each in `activity.active`. */
  MAX_HIGH: 32,
  /** One hold word each; all fit in one cache line, so a high client writes them in a few stores. */
  MAX_BEST_EFFORT: 8,
  /** 128 buckets an octave (each at most 1/128 = 0.78 % wide), 26 octaves from 1 us to 67 s. */
  BUCKETS_PER_OCTAVE: 128,
  OCTAVES: 26,
  /**
   * Of a stream's submissions, as far as is known not done: with more of them its queue in the driver, which holds 1,020
   * (docs/results/hardware.md), may have been full. Then launching itself waits for the GPU, and the burst counts as waited
   * throughout. Work that is not counted takes places, too: sequence words, what a library launches unseen.
   */
  CROWDED_QUEUE: 900,
  /** "COTK" in ASCII, little-endian. */
  KERNEL_TABLE_MAGIC: 0x4b544f43,
} as const;

export const classes = { none: 0, high: 1, "best-effort": 2 } as const;
export type ClientClass = "high" | "best-effort";

/** Bits of a slot's `caveats`. */
export const caveats = {
  /** One rank of several, each protected on its own GPU alone. */
  ranks: 1,
  /** It uses several GPUs, and is protected on each by itself. */
  gpus: 2,
  /** It has loaded a library in a way that leads past the interposer. */
  pastUs: 4,
} as const;

const cacheLine = 64;

const settings = () =>
  Object.fromEntries(Object.keys(rules).map((name) => [name, u32()])) as Readonly<
    Record<RuleName, ScalarField>
  >;

export const Header = struct(
  "Header",
  "Written once when the region is made, except generation, agentPid and pidNamespace.",
  {
    magic: u64("MAGIC; written last, so a half-made region is not taken for a whole one"),
    version: u32("VERSION"),
    size: u32("bytes of the whole region"),
    pidNamespace: u64("inode of the PID namespace in which the pids here are meant: the agent's"),
    agentPid: u32("the agent that serves this region now"),
    generation: u32("counts the agents that have served this region"),
    smCount: u32("SMs of the GPU"),
    reserved: u32(),
    gpuUuid: bytes(16, "as the driver gives it"),
    gpuName: text(64),
  },
  cacheLine,
);

export const Settings = struct(
  "Settings",
  "The gate's rule table: src/protocol/rules.ts describes each. A policy fills it; every client reads it.",
  settings(),
  cacheLine,
);

const Activity = struct(
  "Activity",
  "Who is busy now. Written by clients.",
  {
    active: u32("a bit per high slot: a burst is running"),
    registered: u32("a bit per high slot: somebody is there to be protected"),
    waiting: u32("a bit per best-effort slot: has work to run"),
    turn: u32("best-effort slot whose turn it is"),
    turnSince: u64("monotonic ns"),
    activations: u64("idle to active transitions of the GPU"),
    idleSince: u64("monotonic ns at which the last burst ended"),
    highKernel: u32("class and SM need of the latest high kernel: class << 16 | SMs; 0: unknown"),
    highKernelUs: u32("its expected duration; 0: unknown"),
  },
  cacheLine,
);

const Holds = struct(
  "Holds",
  "A page of its own, mapped read-only into best-effort GPUs' address spaces. Word i: 0 = released.",
  { hold: u32s(constants.MAX_BEST_EFFORT) },
  constants.PAGE,
);

const Marks = struct(
  "Marks",
  "A page of its own per best-effort client, written by the GPU: chunks finished, a word per stream.",
  { done: u32s(constants.PAGE / 4) },
  constants.PAGE,
);

const identity = {
  state: u32("0 free, 1 taken"),
  pid: u32(),
  startTime: u64("field 22 of /proc/PID/stat: tells a recycled pid"),
  name: text(48),
};

export const HighSlot = struct(
  "HighSlot",
  "One high client on this GPU.",
  {
    ...identity,
    launches: u64("kernels and graphs submitted"),
    copies: u64("copies and memsets submitted"),
    bursts: u64("bursts ended"),
    busySince: u64("monotonic ns; 0: idle"),
    busyNs: u64("time in bursts, ended ones only"),
    copyUntil: u64(
      "monotonic ns: a copy over PCIe is in flight until then; all ones: till the end",
    ),
    aheadNs: u64("launch-ahead found at the bursts' starts, summed"),
    aheadMaxNs: u64("the largest of these since the agent last cleared it"),
    tailWrites: u64("sequence words added because the application polls memory itself"),
    timeouts: u64("bursts ended by the last resort: nothing was observed"),
    unhooked: u32(
      "calls of the driver's functions that are not replaced though they may submit work",
    ),
    caveats: u32("bits of Caveat: what of it is not protected, or not held back"),
    histogram: u32s(constants.OCTAVES * constants.BUCKETS_PER_OCTAVE, "bursts by duration"),
    waits: u32s(
      constants.OCTAVES * constants.BUCKETS_PER_OCTAVE,
      "the same bursts, by the time waited for the GPU in them",
    ),
    sharedNs: u64("time in bursts in which best-effort work was not held: see shareAfterUs"),
    beats: u32("counts the looks of the client's helper thread; 0: it has none"),
    spare: u32s(
      constants.PAGE / 4 - 4,
      "makes the size a power of two: each launch finds its slot by a shift",
    ),
  },
  constants.PAGE,
);

export const BestEffortSlot = struct(
  "BestEffortSlot",
  "One best-effort client on this GPU. Times in ns.",
  {
    ...identity,
    launches: u64("kernels submitted"),
    graphs: u64("graphs submitted"),
    copies: u64("copies and memsets submitted"),
    submittedNs: u64("expected GPU time submitted, in all"),
    finishedNs: u64("expected GPU time known to have finished, in all"),
    releasedNs: u64("launch-ahead: expected GPU time released and not known finished"),
    chunks: u64("chunk borders put into streams"),
    trickles: u64("times a pause was broken by the trickle"),
    heldNs: u64("time its work waited for high clients"),
    cappedNs: u64("time its threads waited at the submission limit"),
    turnNs: u64("time its work waited for another best-effort client's turn"),
    emptyNs: u64("time it was free to run and had nothing queued"),
    variants: u64("kernels that have a variant"),
    preemptible: u64("launches in a variant"),
    graphGates: u64("places where graphs made so far can stop inside"),
    wholeGraphs: u64("graphs that can't, and run whole"),
    splitProducts: u64("matrix products given to cuBLAS in parts"),
    longKernels: u64("launches expected to take over 300 us"),
    longestNs: u64("the longest kernel seen"),
    unknownLaunches: u64("launches of kernels never seen before"),
    memoryUsed: u64("bytes"),
    memoryQuota: u64("bytes; 0: none"),
    memoryRefusals: u64("allocations refused over the quota"),
    unhooked: u32(
      "calls of the driver's functions that are not replaced though they may submit work",
    ),
    caveats: u32("bits of Caveat: what of it is not protected, or not held back"),
  },
  constants.PAGE,
);

export const Region = struct(
  "Region",
  "All of it: one per GPU.",
  {
    header: one(Header),
    settings: one(Settings),
    activity: one(Activity),
    holds: one(Holds),
    marks: many(Marks, constants.MAX_BEST_EFFORT),
    high: many(HighSlot, constants.MAX_HIGH),
    bestEffort: many(BestEffortSlot, constants.MAX_BEST_EFFORT),
  },
  constants.PAGE,
);

/** `Hello.kind` and `Welcome.status`. */
export const helloKinds = { attach: 1, reattach: 2, variant: 3 } as const;
export const welcomeStatus = { ok: 0, full: 1, refused: 2, newRegion: 3 } as const;

const MESSAGE_MAGIC = 0x48544f43; // "COTH"

/** What a client's profile says of it as a whole; nothing where there is none. */
const workload = {
  soloUs: u32("a request or iteration alone; 0: unknown"),
  gpuSharePermille: u32("part of that in which a kernel runs; 0: unknown"),
  training: u32("1: it trains"),
};

export const Hello = struct(
  "Hello",
  "The first and only message of a client to the agent, once per GPU. With reattach comes the descriptor of the region, with variant that of a VariantRequest (SCM_RIGHTS). The connection stays open: its hang-up is the client's death notice.",
  {
    magic: u32("MESSAGE_MAGIC"),
    version: u32("VERSION"),
    kind: u32("attach; reattach: the client already maps a region; variant: see VariantRequest"),
    class: u32("see classes"),
    pid: u32("as the client sees it, in a PID namespace of its own perhaps"),
    slot: i32("reattach: the slot it holds"),
    startTime: u64(),
    gpuIndex: i32("the driver's ordinal in that process"),
    reserved: u32(),
    memoryQuota: u64("bytes; 0: none"),
    sloP99Us: u32("0: none"),
    sloSlowdownPermille: u32("0: none"),
    gpuUuid: bytes(16),
    name: text(48),
    gpuName: text(64),
    smCount: u32(),
    ...workload,
  },
  8,
);

export const Welcome = struct(
  "Welcome",
  "The agent's answer. Where the status is ok, a descriptor comes with it (SCM_RIGHTS): the region's, or that of the variants that were asked for.",
  {
    magic: u32("MESSAGE_MAGIC"),
    version: u32("VERSION"),
    status: u32("see welcomeStatus"),
    slot: i32(),
    memoryQuota: u64(
      "bytes that this client may have: what it asked for, or the operator's grant; 0: no limit",
    ),
    reason: text(200, "why not, for people"),
  },
  8,
);

export const VariantRequest = struct(
  "VariantRequest",
  "The beginning of the memory file that comes with a Hello of kind variant: which kernel wants a variant, or without a name all kernels of a module. The kernel's name and its PTX (text, or a fat binary) follow. The answer comes with a memory file with the PTX of that kernel and its variants; its slot is 1 if the preemptible variant is right only for blocks whose x size is a multiple of 32.",
  {
    nameBytes: u32(),
    reserved: u32(),
    imageBytes: u64(),
  },
  8,
);

/** `KernelEntry.class`, and the upper half of `activity.highKernel`: as in native/gate/gate.h. */
export const kernelClasses = { unknown: 0, compute: 1, memory: 2 } as const;

export const KernelTable = struct(
  "KernelTable",
  "A client's profile as a file (COTENANT_KERNELS): this, then `count` entries, by rising key.",
  {
    magic: u32("KERNEL_TABLE_MAGIC"),
    version: u32("VERSION"),
    count: u32(),
    ...workload,
    gpuName: text(64, "as the driver says it: on another GPU nothing of this holds"),
  },
  8,
);

export const KernelEntry = struct(
  "KernelEntry",
  "One kernel in one launch shape.",
  {
    key: u64("FNV-1a, 64 bits: the name's bytes, then grid and block, x y z, four bytes each"),
    class: u32("see kernelClasses"),
    sms: u32("SMs it fills, at most those of the GPU"),
    durationNs: u32("median"),
    reserved: u32(),
  },
  8,
);

export const messageMagic = MESSAGE_MAGIC;
export const sharedStructs = [
  Header,
  Settings,
  Activity,
  Holds,
  Marks,
  HighSlot,
  BestEffortSlot,
  Region,
] as const;
/** Messages, and what is in a file: one writer, so plain memory. */
export const messageStructs = [Hello, Welcome, VariantRequest, KernelTable, KernelEntry] as const;
