// native/generated/protocol.h is made from this file (`npm run update`). The memory of one GPU
// consists of files, one for each set of writers (decision 0012), which a process maps in the
// layout of `Region`. It finds zeros where it has no file, and trusts nothing that another client
// writes. Structs grow by appending into their reserved size: a field that the other side does not
// know is zero, which means "not stated" (decision 0030).
import { type RuleName, rules } from "./rules.ts";
import {
  bytes,
  i32,
  many,
  nanosecond,
  one,
  type ScalarField,
  struct,
  text,
  u32,
  u32s,
  u64,
  u64s,
} from "./struct.ts";

export const constants = {
  MAGIC: 0x544e414e45544f43n, // "COTENANT" in ASCII, little-endian
  /** Changes if a field moves or changes its meaning: then agent and client are incompatible. */
  VERSION: 14,
  /** Counts appended fields or gate parameters. Any two revisions are compatible. */
  REVISION: 3,
  PAGE: 4096,
  MAX_HIGH: 64, // each has a bit in `HoldPage.active`
  MAX_BEST_EFFORT: 16, // each has a bit in `roster`
  MAX_SHARE: 100, // see `Roster.shares`
  /** 128 buckets an octave (each at most 1/128 = 0.78 % wide) cover 1 us to 67 s in 26 octaves. */
  BUCKETS_PER_OCTAVE: 128,
  OCTAVES: 26,
  /**
   * With more submissions, a stream's queue in the driver, which holds 1,020
   * (docs/results/hardware.md), may be full, because uncounted work takes entries, too. Then
   * launching waits for the GPU, and the burst counts as waited throughout.
   */
  CROWDED_QUEUE: 900,
  BURST_RECORDS: 1024, // a power of two
  BURST_RECORD_WORDS: 4, // of 64 bits
  SEGMENT_RECORDS: 512, // a power of two
  SEGMENT_RECORD_WORDS: 4, // of 64 bits
  SEGMENT_NODES_SHIFT: 24, // graph nodes are counted above this bit
  SEGMENT_MAIN_SHIFT: 48, // this bit marks the main work of a step
  SLICE_RECORDS: 256, // a power of two
  SLICE_RECORD_WORDS: 4, // of 64 bits
  MAX_JOB_GPUS: 15, // GPUs of a job, but one
  /** `Movable.memoryWanted` is a multiple of this and a tag below it. */
  WANTED_TAGS: 256,
  KERNEL_TABLE_MAGIC: 0x4b544f43, // "COTK" in ASCII, little-endian
} as const;

export const classes = { none: 0, high: 1, "best-effort": 2 } as const;
export type ClientClass = "high" | "best-effort";

export const caveats = {
  ranks: 1,
  gpus: 2, // each is protected by itself
  pastUs: 4,
  tooMany: 8,
} as const;

export const parkStates = { open: 0, parking: 1, parked: 2, returning: 3 } as const;

export const unmovable = {
  pools: 1,
  managed: 2,
  arrays: 4,
  graphs: 8, // its nodes allocate
  mapped: 16, // the program maps it in a special form
  plain: 32,
} as const;

const cacheLine = 64;

const settings = () =>
  Object.fromEntries(Object.keys(rules).map((name) => [name, u32()])) as Readonly<
    Record<RuleName, ScalarField>
  >;

export const Header = struct(
  "Header",
  "Written once, when an agent begins to serve a GPU.",
  {
    magic: u64("MAGIC; written last, so a half-made region is not taken for a whole one"),
    version: u32("VERSION"),
    size: u32("bytes of Region"),
    pidNamespace: u64("inode of the PID namespace in which the pids here are meant: the agent's"),
    agentPid: u32("the agent that serves this GPU"),
    smCount: u32("SMs of the GPU"),
    gpuUuid: bytes(16, "as the driver gives it"),
    gpuName: text(64),
    revision: u32("REVISION of the agent"),
  },
  cacheLine,
  256,
);

export const Settings = struct(
  "Settings",
  "The gate's parameter table: src/protocol/rules.ts describes each. A policy fills it; every client reads it.",
  { known: u32("how many gate parameters the agent writes"), ...settings() },
  cacheLine,
  1024,
);

const Roster = struct(
  "Roster",
  "The clients of the GPU, and the best-effort client whose turn it is.",
  {
    registered: u32("how many high clients are there to be protected"),
    bestEffort: u32("a bit per best-effort slot that is taken"),
    waiting: u32("a bit per best-effort slot that has work to run, where there are several"),
    turn: u32("best-effort slot whose turn it is"),
    turnSince: nanosecond("monotonic ns"),
    lookedAt: nanosecond(
      "monotonic ns at which the agent last looked who waits; of no use with one client",
    ),
    holdsVersion: u32("counts the control pages that high clients were sent"),
    shares: u32s(
      constants.MAX_BEST_EFFORT,
      "per best-effort slot, how many times quantumUs its turn lasts; 0 counts as 1",
    ),
    takeable: u64("bytes of best-effort clients' memory that would be parked for a high client"),
    movers: u32("a bit per best-effort slot whose client can park its memory"),
    takeableAt: nanosecond(
      "monotonic ns at which the agent last looked what is takeable, written after it",
    ),
    moving: u32(
      "a bit per best-effort slot whose memory is being parked or returned, written before takeableAt",
    ),
  },
  cacheLine,
  512,
);

const HoldOfHigh = struct(
  "HoldOfHigh",
  "One high client's entry in a control page.",
  {
    copyUntil: nanosecond(
      "monotonic ns: a copy over PCIe is in flight until then; all ones: till the end",
    ),
    burstSince: nanosecond("monotonic ns"),
    longestUs: u32("its longest burst"),
    beats: u32("counts the samples of its helper thread; 0: it has none"),
  },
  8,
  48,
);

const HoldPage = struct(
  "HoldPage",
  "Facts of the high clients for one best-effort client, and the word on which its GPU waits.",
  {
    word: u32(
      "mapped read-only into the GPU's address space, which waits for it: 0 = released, 1 = held, 2 = its time slice is renewed",
    ),
    highKernel: u32("class and SM need of the latest high kernel: class << 16 | SMs; 0: unknown"),
    active: u64("a bit per high slot: a burst is running"),
    activations: u64("idle to active transitions of the GPU"),
    idleSince: nanosecond("monotonic ns at which the last burst ended"),
    highKernelUs: u32("expected duration of the latest high kernel; 0: unknown"),
    reserved: u32(),
    releasedNs: u64("that of the best-effort client's slot, which high clients don't see"),
    high: many(HoldOfHigh, constants.MAX_HIGH),
  },
  constants.PAGE,
);

const durations = (doc: string) => u32s(constants.OCTAVES * constants.BUCKETS_PER_OCTAVE, doc);

export const Movable = struct(
  "Movable",
  "Memory of one client that can be parked, and what the agent asks of it. A high client parks by itself; one that does not has memoryWanted alone.",
  {
    movable: u32("1: its memory is movable"),
    parkAsked: u32(
      "written by the agent, counts its commands: odd: park its memory; even: return it",
    ),
    parkAnswered: u32("the last of them that the client has carried out or refused"),
    parkState: u32("see ParkState"),
    unmovable: u32("bits of Unmovable: memory of it that cannot be moved"),
    memoryAnswer: u32(
      "written by the agent at each sample while memoryWanted is not 0: 1 if memory comes, 0 if it has none to take; 2 times a count of its answers; and 2^24 times the tag",
    ),
    parkBytes: u64(
      "written by the agent before a command to park: how much is to be parked in all, rounded up to whole allocations; 0: everything",
    ),
    movableBytes: u64("bytes of the GPU's memory that can be moved, or are parked"),
    movableAsked: u64("the part of them that the program asked for"),
    parkedBytes: u64("the part of movableBytes that is in host memory"),
    pinnedBytes: u64("host memory that is pinned for them"),
    parkedSinceNs: nanosecond("monotonic ns; 0: not parked"),
    parkNs: u64("how long the last parking took, from the command to the release of the memory"),
    returnNs: u64("how long the last return took, from the time when the memory fitted"),
    firstAnswerNs: u64(
      "high: from the first call that waited for parked memory until the end of the burst that it began, the last time",
    ),
    woken: u64("high: how many times there was such a call"),
    memoryWanted: u64(
      "bytes of an allocation that the driver refused and that waits for memory of best-effort clients, rounded up to WANTED_TAGS, and a tag that differs from that of the allocation before; 0: none",
    ),
    parkReason: text(128, "why it is not parked, or not yet back; empty: nothing is wrong"),
    moveTo: bytes(
      16,
      "written by the agent before a command to return: the UUID of the GPU that it is to go on with; zeros: the one it has",
    ),
    byDriver: u32(
      "1: the driver's checkpoint of the process has moved it, and parkedBytes are all its bytes",
    ),
  },
  8,
  384,
);

export const HighSlot = struct(
  "HighSlot",
  "One high client on this GPU.",
  {
    launches: u64("kernels and graphs submitted"),
    copies: u64("copies and memsets submitted"),
    bursts: u64("bursts ended"),
    busySince: nanosecond("monotonic ns; 0: idle"),
    busyNs: u64("time in bursts, ended ones only"),
    aheadNs: u64("queued-ahead work found at the bursts' starts, summed"),
    aheadMaxNs: u64("the largest of these since the agent last cleared it"),
    tailWrites: u64("sequence words that the GPU writes behind its work"),
    timeouts: u64("bursts, or streams of one, that were given up: nothing showed their end"),
    unhooked: u32(
      "calls of the driver's functions that are not replaced though they may submit work",
    ),
    caveats: u32("bits of Caveat: what of it is not protected, or not held back"),
    histogram: durations("bursts by duration"),
    waits: durations("the same bursts, by the time waited for the GPU in them"),
    sharedNs: u64(
      "time in bursts in which best-effort work was not held: it started up, or see startupTimeoutUs",
    ),
    holdsVersion: u32("the roster's, when this client had mapped all control pages"),
    starting: u32("1: it starts up, and shares the GPU until it serves"),
    memory: one(Movable),
    serves: u32("written by the agent: 1: the service's endpoint answers, so it does not start up"),
    requestsOpen: u32("requests that the program has begun and not ended"),
    requestsFailed: u64("requests that it ended as failed; they are in no histogram of requests"),
    requestsForgotten: u64("requests that were begun and not ended when their place was needed"),
    requestValues: u64("values in the next four histograms; counted after the value"),
    ttft: durations("requests by the time from their start to their first progress"),
    tpot: durations("requests by the mean time of each unit after the first"),
    itl: durations("times from one progress of a request to the next"),
    e2e: durations("requests by the time from their start to their end"),
    burstRecords: u64s(
      constants.BURST_RECORDS * constants.BURST_RECORD_WORDS,
      "the latest bursts, number n (`bursts` before it) at n modulo BURST_RECORDS: begin and end in monotonic ns, ns waited for the GPU, `launches` at the end",
    ),
    segments: u64("segments ended"),
    segmentRecords: u64s(
      constants.SEGMENT_RECORDS * constants.SEGMENT_RECORD_WORDS,
      "the latest segments, number n (`segments` before it) at n modulo SEGMENT_RECORDS: begin and end in monotonic ns, ns waited for the GPU, submissions and graph nodes and whether it has the main work of a step (SEGMENT_NODES_SHIFT, SEGMENT_MAIN_SHIFT). A segment is the work that one observed completion showed to be done; it begins where the one before ended, or with its burst",
    ),
    jobVersion: u32(
      "written by the agent, like the next four; odd: they change just now; else a count of their changes",
    ),
    jobCount: u32(
      "how many other GPUs the ranks of this client's job use; it holds best-effort work on them, too",
    ),
    jobGpus: bytes(16 * constants.MAX_JOB_GPUS, "the UUIDs of these GPUs"),
    jobSlots: u32s(
      constants.MAX_JOB_GPUS,
      "on each of them 1 more than the slot of a client whose steps this client observes; 0: there is none",
    ),
    follows: u32("1: another client of the job observes this client's steps"),
    ranks: u32(
      "1: it may need other ranks: a launcher says so, or it has looked up a kernel that waits for them",
    ),
  },
  constants.PAGE,
  // A power of two: each launch finds its slot by a shift.
  131_072,
);

export const BestEffortSlot = struct(
  "BestEffortSlot",
  "One best-effort client on this GPU. Times in ns.",
  {
    done: u32s(
      constants.PAGE / 4,
      "a page that the GPU writes: chunks finished, a word per stream",
    ),
    waiting: u32("1: it has work to run"),
    launches: u64("kernels submitted"),
    graphs: u64("graphs submitted"),
    copies: u64("copies and memsets submitted"),
    submittedNs: u64("expected GPU time submitted, in all"),
    finishedNs: u64("expected GPU time known to have finished, in all"),
    releasedNs: u64("queued-ahead work: expected GPU time released and not known finished"),
    chunks: u64("chunk borders put into streams"),
    minProgress: u64("times a pause was broken by minimum progress"),
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
    longestName: text(128, "its name as in the code, cut; empty: not known"),
    unknownLaunches: u64("launches of kernels never seen before"),
    memoryUsed: u64("bytes"),
    memoryQuota: u64("bytes; 0: none"),
    memoryRefusals: u64("allocations refused over the quota"),
    unhooked: u32(
      "calls of the driver's functions that are not replaced though they may submit work",
    ),
    caveats: u32("bits of Caveat: what of it is not protected, or not held back"),
    memory: one(Movable),
    slices: u64("times that its work was let through during a request, ended ones only"),
    sliceRecords: u64s(
      constants.SLICE_RECORDS * constants.SLICE_RECORD_WORDS,
      "the latest of them, number n (`slices` before it) at n modulo SLICE_RECORDS: when its word was cleared, when the GPU was first seen to have come farther (0: it was not), and when the word was set again or no request was active any more, in monotonic ns; expected GPU time that finished meanwhile, in ns",
    ),
    gangRanks: u32("ranks of the gang that the client is one of; 0: it is no rank"),
    commits: u64("collectives, sends, receives and groups of the rank that were committed"),
    commitTimeouts: u64("the part of them whose wait for other ranks timed out"),
    commitProgress: u64(
      "the part of them that a pause held up for as long as minimum progress allows",
    ),
  },
  constants.PAGE,
  16_384,
);

export const Region = struct(
  "Region",
  "All of it, for one GPU.",
  {
    header: one(Header),
    settings: one(Settings),
    roster: one(Roster),
    holds: many(HoldPage, constants.MAX_BEST_EFFORT),
    high: many(HighSlot, constants.MAX_HIGH),
    bestEffort: many(BestEffortSlot, constants.MAX_BEST_EFFORT),
  },
  constants.PAGE,
);

/**
 * ask: whether a GPU takes such a client now; a GPU of zeros means `gpuIndex` in the driver's
 * order, or any if that is negative. report: the process reports requests of a service whose GPU
 * others use. launch: "cotenant run" asks with which variables it becomes its command. full, later:
 * not now. refused: never.
 */
export const helloKinds = {
  attach: 1,
  reattach: 2,
  variant: 3,
  ask: 4,
  report: 5,
  launch: 6,
} as const;
export const welcomeStatus = { ok: 0, full: 1, refused: 2, attachAnew: 3, later: 4 } as const;

const MESSAGE_MAGIC = 0x48544f43; // "COTH"

/** The fields are zero without a profile. */
const workload = {
  soloUs: u32("a request or iteration alone; 0: unknown"),
  gpuSharePermille: u32("part of that in which a kernel runs; 0: unknown"),
  training: u32("1: it trains"),
};

export const Hello = struct(
  "Hello",
  "The first and only message of a client to the agent, once per GPU. With reattach come the client's own files (SCM_RIGHTS): its slot, and of a best-effort client its control page; with variant that of a VariantRequest; with launch one of words (src/agent/launches/message.ts). The connection stays open: its hang-up is the client's death notice.",
  {
    magic: u32("MESSAGE_MAGIC"),
    version: u32("VERSION"),
    kind: u32(
      "attach; reattach: the client has a slot from the last agent; variant: see VariantRequest",
    ),
    class: u32("see classes"),
    pid: u32("as the client sees it, in a PID namespace of its own perhaps"),
    slot: i32("reattach: the slot it holds"),
    startTime: u64(),
    gpuIndex: i32("the driver's ordinal in that process"),
    reserved: u32(),
    memoryQuota: u64("bytes; 0: none"),
    sloP99Us: u32("0: none"),
    sloSlowdownPermille: u32("0: none"),
    sloTtftUs: u32("of requests, as the next three; 0: none"),
    sloTpotUs: u32(),
    sloItlUs: u32(),
    sloE2eUs: u32(),
    sloMetrics: text(160, "the address of the endpoint at which the service reports its requests"),
    gpuUuid: bytes(16),
    name: text(48),
    gpuName: text(64),
    smCount: u32(),
    ...workload,
    revision: u32("REVISION of the client's library"),
    slo: text(
      256,
      "the whole objective, as texts such as ttft.p90=200ms with blanks between them; empty: what the fields above say",
    ),
    holdsOnly: u32(
      "1: the process does not use this GPU. Other ranks of its job do, and it holds best-effort work there while it is active",
    ),
  },
  8,
  1024,
);

export const Welcome = struct(
  "Welcome",
  "The agent's answer. Where the status is ok, files come with it (SCM_RIGHTS): the common one, the client's slot, and the control pages of `holds` by rising slot; or that of the variants that were asked for, or one with a HighSlot, of which the counters of requests are read, for a report; or the words that answer a launch. A high client is sent further control pages later: see NewHold.",
  {
    magic: u32("MESSAGE_MAGIC"),
    version: u32("VERSION"),
    status: u32("see welcomeStatus"),
    slot: i32(),
    memoryQuota: u64(
      "bytes that this client may have: what it asked for, or the operator's grant; 0: no limit",
    ),
    holds: u32("a bit per best-effort slot whose control page comes"),
    holdsVersion: u32("the roster's, with these"),
    reason: text(200, "why not, for people"),
    revision: u32("REVISION of the agent"),
  },
  8,
  512,
);

export const NewHold = struct(
  "NewHold",
  "From the agent to a high client: the control page of a best-effort client comes with it (SCM_RIGHTS). After it the roster's holdsVersion grows.",
  {
    magic: u32("MESSAGE_MAGIC"),
    slot: u32("of the best-effort client"),
  },
  8,
  64,
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

/** It is also in the upper half of `HoldPage.highKernel`, and the gate's KernelClass. */
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
  Roster,
  HoldOfHigh,
  HoldPage,
  Movable,
  HighSlot,
  BestEffortSlot,
  Region,
] as const;
/** These have one writer, so they are plain memory. */
export const messageStructs = [
  Hello,
  Welcome,
  NewHold,
  VariantRequest,
  KernelTable,
  KernelEntry,
] as const;
