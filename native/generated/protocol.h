// Generated from src/protocol/layout.ts by `npm run update`. Do not edit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// offsetof on structs that hold atomics is what this file is about.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace cotenant::protocol {

inline constexpr std::uint64_t MAGIC = 0x544e414e45544f43ull;
inline constexpr std::uint32_t VERSION = 4;
inline constexpr std::uint32_t PAGE = 4096;
inline constexpr std::uint32_t MAX_HIGH = 32;
inline constexpr std::uint32_t MAX_BEST_EFFORT = 8;
inline constexpr std::uint32_t BUCKETS_PER_OCTAVE = 128;
inline constexpr std::uint32_t OCTAVES = 26;
inline constexpr std::uint32_t CROWDED_QUEUE = 900;
inline constexpr std::uint32_t KERNEL_TABLE_MAGIC = 1263816515;
inline constexpr std::uint32_t MESSAGE_MAGIC = 0x48544f43;

// Variables in which launchers tell a process how many ranks its job has.
inline constexpr const char* RANK_COUNTS[] = {
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
    "I_MPI_INFO_NP",
    "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_SIZE",
    "HOROVOD_SIZE",
    "SLURM_STEP_NUM_TASKS",
};

enum class Class : std::uint32_t {
  kNone = 0,
  kHigh = 1,
  kBestEffort = 2,
};
enum class Caveat : std::uint32_t {
  kRanks = 1,
  kGpus = 2,
  kPastUs = 4,
};
enum class WhenActive : std::uint32_t {
  kWait = 0,
  kAllowOpposite = 1,
  kAllow = 2,
  kAllowShort = 3,
  kAllowFitting = 4,
  kFinishIteration = 5,
};
enum class Submission : std::uint32_t {
  kDeep = 0,
  kLaunch = 1,
};
enum class GraphGates : std::uint32_t {
  kNone = 0,
  kNodes = 1,
  kParts = 2,
};
enum class HelloKind : std::uint32_t {
  kAttach = 1,
  kReattach = 2,
  kVariant = 3,
};
enum class WelcomeStatus : std::uint32_t {
  kOk = 0,
  kFull = 1,
  kRefused = 2,
  kNewRegion = 3,
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Written once when the region is made, except generation, agentPid and pidNamespace.
struct alignas(64) Header {
  std::atomic<std::uint64_t> magic;  // MAGIC; written last, so a half-made region is not taken for a whole one
  std::atomic<std::uint32_t> version;  // VERSION
  std::atomic<std::uint32_t> size;  // bytes of the whole region
  std::atomic<std::uint64_t> pidNamespace;  // inode of the PID namespace in which the pids here are meant: the agent's
  std::atomic<std::uint32_t> agentPid;  // the agent that serves this region now
  std::atomic<std::uint32_t> generation;  // counts the agents that have served this region
  std::atomic<std::uint32_t> smCount;  // SMs of the GPU
  std::atomic<std::uint32_t> reserved;
  unsigned char gpuUuid[16];  // as the driver gives it
  char gpuName[64];
  unsigned char pad0[8];
};
static_assert(sizeof(Header) == 128);
static_assert(offsetof(Header, magic) == 0);
static_assert(offsetof(Header, version) == 8);
static_assert(offsetof(Header, size) == 12);
static_assert(offsetof(Header, pidNamespace) == 16);
static_assert(offsetof(Header, agentPid) == 24);
static_assert(offsetof(Header, generation) == 28);
static_assert(offsetof(Header, smCount) == 32);
static_assert(offsetof(Header, reserved) == 36);
static_assert(offsetof(Header, gpuUuid) == 40);
static_assert(offsetof(Header, gpuName) == 56);

// The gate's rule table: src/protocol/rules.ts describes each. A policy fills it; every client reads it.
struct alignas(64) Settings {
  std::atomic<std::uint32_t> protect;
  std::atomic<std::uint32_t> isolated;
  std::atomic<std::uint32_t> paused;
  std::atomic<std::uint32_t> whenActive;
  std::atomic<std::uint32_t> smLimit;
  std::atomic<std::uint32_t> maxKernelUs;
  std::atomic<std::uint32_t> chunkUs;
  std::atomic<std::uint32_t> chunkLaunches;
  std::atomic<std::uint32_t> activeAheadUs;
  std::atomic<std::uint32_t> submitUs;
  std::atomic<std::uint32_t> submitLaunches;
  std::atomic<std::uint32_t> kernelsOut;
  std::atomic<std::uint32_t> resumeDelayUs;
  std::atomic<std::uint32_t> turnUs;
  std::atomic<std::uint32_t> trickleAfterUs;
  std::atomic<std::uint32_t> trickleEveryUs;
  std::atomic<std::uint32_t> unknownUs;
  std::atomic<std::uint32_t> submission;
  std::atomic<std::uint32_t> sampleEvery;
  std::atomic<std::uint32_t> copyPieceBytes;
  std::atomic<std::uint32_t> wantKernels;
  std::atomic<std::uint32_t> budgetUs;
  std::atomic<std::uint32_t> launchEveryNs;
  std::atomic<std::uint32_t> besideEveryUs;
  std::atomic<std::uint32_t> preemptUs;
  std::atomic<std::uint32_t> graphGates;
  std::atomic<std::uint32_t> splitProductsUs;
  std::atomic<std::uint32_t> renewUs;
  std::atomic<std::uint32_t> shareAfterUs;
  unsigned char pad0[12];
};
static_assert(sizeof(Settings) == 128);
static_assert(offsetof(Settings, protect) == 0);
static_assert(offsetof(Settings, isolated) == 4);
static_assert(offsetof(Settings, paused) == 8);
static_assert(offsetof(Settings, whenActive) == 12);
static_assert(offsetof(Settings, smLimit) == 16);
static_assert(offsetof(Settings, maxKernelUs) == 20);
static_assert(offsetof(Settings, chunkUs) == 24);
static_assert(offsetof(Settings, chunkLaunches) == 28);
static_assert(offsetof(Settings, activeAheadUs) == 32);
static_assert(offsetof(Settings, submitUs) == 36);
static_assert(offsetof(Settings, submitLaunches) == 40);
static_assert(offsetof(Settings, kernelsOut) == 44);
static_assert(offsetof(Settings, resumeDelayUs) == 48);
static_assert(offsetof(Settings, turnUs) == 52);
static_assert(offsetof(Settings, trickleAfterUs) == 56);
static_assert(offsetof(Settings, trickleEveryUs) == 60);
static_assert(offsetof(Settings, unknownUs) == 64);
static_assert(offsetof(Settings, submission) == 68);
static_assert(offsetof(Settings, sampleEvery) == 72);
static_assert(offsetof(Settings, copyPieceBytes) == 76);
static_assert(offsetof(Settings, wantKernels) == 80);
static_assert(offsetof(Settings, budgetUs) == 84);
static_assert(offsetof(Settings, launchEveryNs) == 88);
static_assert(offsetof(Settings, besideEveryUs) == 92);
static_assert(offsetof(Settings, preemptUs) == 96);
static_assert(offsetof(Settings, graphGates) == 100);
static_assert(offsetof(Settings, splitProductsUs) == 104);
static_assert(offsetof(Settings, renewUs) == 108);
static_assert(offsetof(Settings, shareAfterUs) == 112);

// Who is busy now. Written by clients.
struct alignas(64) Activity {
  std::atomic<std::uint32_t> active;  // a bit per high slot: a burst is running
  std::atomic<std::uint32_t> registered;  // a bit per high slot: somebody is there to be protected
  std::atomic<std::uint32_t> waiting;  // a bit per best-effort slot: has work to run
  std::atomic<std::uint32_t> turn;  // best-effort slot whose turn it is
  std::atomic<std::uint64_t> turnSince;  // monotonic ns
  std::atomic<std::uint64_t> activations;  // idle to active transitions of the GPU
  std::atomic<std::uint64_t> idleSince;  // monotonic ns at which the last burst ended
  std::atomic<std::uint32_t> highKernel;  // class and SM need of the latest high kernel: class << 16 | SMs; 0: unknown
  std::atomic<std::uint32_t> highKernelUs;  // its expected duration; 0: unknown
  unsigned char pad0[16];
};
static_assert(sizeof(Activity) == 64);
static_assert(offsetof(Activity, active) == 0);
static_assert(offsetof(Activity, registered) == 4);
static_assert(offsetof(Activity, waiting) == 8);
static_assert(offsetof(Activity, turn) == 12);
static_assert(offsetof(Activity, turnSince) == 16);
static_assert(offsetof(Activity, activations) == 24);
static_assert(offsetof(Activity, idleSince) == 32);
static_assert(offsetof(Activity, highKernel) == 40);
static_assert(offsetof(Activity, highKernelUs) == 44);

// A page of its own, mapped read-only into best-effort GPUs' address spaces. Word i: 0 = released.
struct alignas(4096) Holds {
  std::atomic<std::uint32_t> hold[8];
  unsigned char pad0[4064];
};
static_assert(sizeof(Holds) == 4096);
static_assert(offsetof(Holds, hold) == 0);

// A page of its own per best-effort client, written by the GPU: chunks finished, a word per stream.
struct alignas(4096) Marks {
  std::atomic<std::uint32_t> done[1024];
};
static_assert(sizeof(Marks) == 4096);
static_assert(offsetof(Marks, done) == 0);

// One high client on this GPU.
struct alignas(4096) HighSlot {
  std::atomic<std::uint32_t> state;  // 0 free, 1 taken
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint64_t> startTime;  // field 22 of /proc/PID/stat: tells a recycled pid
  char name[48];
  std::atomic<std::uint64_t> launches;  // kernels and graphs submitted
  std::atomic<std::uint64_t> copies;  // copies and memsets submitted
  std::atomic<std::uint64_t> bursts;  // bursts ended
  std::atomic<std::uint64_t> busySince;  // monotonic ns; 0: idle
  std::atomic<std::uint64_t> busyNs;  // time in bursts, ended ones only
  std::atomic<std::uint64_t> copyUntil;  // monotonic ns: a copy over PCIe is in flight until then; all ones: till the end
  std::atomic<std::uint64_t> aheadNs;  // launch-ahead found at the bursts' starts, summed
  std::atomic<std::uint64_t> aheadMaxNs;  // the largest of these since the agent last cleared it
  std::atomic<std::uint64_t> tailWrites;  // sequence words added because the application polls memory itself
  std::atomic<std::uint64_t> timeouts;  // bursts ended by the last resort: nothing was observed
  std::atomic<std::uint32_t> unhooked;  // calls of the driver's functions that are not replaced though they may submit work
  std::atomic<std::uint32_t> caveats;  // bits of Caveat: what of it is not protected, or not held back
  std::atomic<std::uint32_t> histogram[3328];  // bursts by duration
  std::atomic<std::uint32_t> waits[3328];  // the same bursts, by the time waited for the GPU in them
  std::atomic<std::uint64_t> sharedNs;  // time in bursts in which best-effort work was not held: see shareAfterUs
  std::atomic<std::uint32_t> beats;  // counts the looks of the client's helper thread; 0: it has none
  std::atomic<std::uint32_t> spare[1020];  // makes the size a power of two: each launch finds its slot by a shift
  unsigned char pad0[1900];
};
static_assert(sizeof(HighSlot) == 32768);
static_assert(offsetof(HighSlot, state) == 0);
static_assert(offsetof(HighSlot, pid) == 4);
static_assert(offsetof(HighSlot, startTime) == 8);
static_assert(offsetof(HighSlot, name) == 16);
static_assert(offsetof(HighSlot, launches) == 64);
static_assert(offsetof(HighSlot, copies) == 72);
static_assert(offsetof(HighSlot, bursts) == 80);
static_assert(offsetof(HighSlot, busySince) == 88);
static_assert(offsetof(HighSlot, busyNs) == 96);
static_assert(offsetof(HighSlot, copyUntil) == 104);
static_assert(offsetof(HighSlot, aheadNs) == 112);
static_assert(offsetof(HighSlot, aheadMaxNs) == 120);
static_assert(offsetof(HighSlot, tailWrites) == 128);
static_assert(offsetof(HighSlot, timeouts) == 136);
static_assert(offsetof(HighSlot, unhooked) == 144);
static_assert(offsetof(HighSlot, caveats) == 148);
static_assert(offsetof(HighSlot, histogram) == 152);
static_assert(offsetof(HighSlot, waits) == 13464);
static_assert(offsetof(HighSlot, sharedNs) == 26776);
static_assert(offsetof(HighSlot, beats) == 26784);
static_assert(offsetof(HighSlot, spare) == 26788);

// One best-effort client on this GPU. Times in ns.
struct alignas(4096) BestEffortSlot {
  std::atomic<std::uint32_t> state;  // 0 free, 1 taken
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint64_t> startTime;  // field 22 of /proc/PID/stat: tells a recycled pid
  char name[48];
  std::atomic<std::uint64_t> launches;  // kernels submitted
  std::atomic<std::uint64_t> graphs;  // graphs submitted
  std::atomic<std::uint64_t> copies;  // copies and memsets submitted
  std::atomic<std::uint64_t> submittedNs;  // expected GPU time submitted, in all
  std::atomic<std::uint64_t> finishedNs;  // expected GPU time known to have finished, in all
  std::atomic<std::uint64_t> releasedNs;  // launch-ahead: expected GPU time released and not known finished
  std::atomic<std::uint64_t> chunks;  // chunk borders put into streams
  std::atomic<std::uint64_t> trickles;  // times a pause was broken by the trickle
  std::atomic<std::uint64_t> heldNs;  // time its work waited for high clients
  std::atomic<std::uint64_t> cappedNs;  // time its threads waited at the submission limit
  std::atomic<std::uint64_t> turnNs;  // time its work waited for another best-effort client's turn
  std::atomic<std::uint64_t> emptyNs;  // time it was free to run and had nothing queued
  std::atomic<std::uint64_t> variants;  // kernels that have a variant
  std::atomic<std::uint64_t> preemptible;  // launches in a variant
  std::atomic<std::uint64_t> graphGates;  // places where graphs made so far can stop inside
  std::atomic<std::uint64_t> wholeGraphs;  // graphs that can't, and run whole
  std::atomic<std::uint64_t> splitProducts;  // matrix products given to cuBLAS in parts
  std::atomic<std::uint64_t> longKernels;  // launches expected to take over 300 us
  std::atomic<std::uint64_t> longestNs;  // the longest kernel seen
  std::atomic<std::uint64_t> unknownLaunches;  // launches of kernels never seen before
  std::atomic<std::uint64_t> memoryUsed;  // bytes
  std::atomic<std::uint64_t> memoryQuota;  // bytes; 0: none
  std::atomic<std::uint64_t> memoryRefusals;  // allocations refused over the quota
  std::atomic<std::uint32_t> unhooked;  // calls of the driver's functions that are not replaced though they may submit work
  std::atomic<std::uint32_t> caveats;  // bits of Caveat: what of it is not protected, or not held back
  unsigned char pad0[3840];
};
static_assert(sizeof(BestEffortSlot) == 4096);
static_assert(offsetof(BestEffortSlot, state) == 0);
static_assert(offsetof(BestEffortSlot, pid) == 4);
static_assert(offsetof(BestEffortSlot, startTime) == 8);
static_assert(offsetof(BestEffortSlot, name) == 16);
static_assert(offsetof(BestEffortSlot, launches) == 64);
static_assert(offsetof(BestEffortSlot, graphs) == 72);
static_assert(offsetof(BestEffortSlot, copies) == 80);
static_assert(offsetof(BestEffortSlot, submittedNs) == 88);
static_assert(offsetof(BestEffortSlot, finishedNs) == 96);
static_assert(offsetof(BestEffortSlot, releasedNs) == 104);
static_assert(offsetof(BestEffortSlot, chunks) == 112);
static_assert(offsetof(BestEffortSlot, trickles) == 120);
static_assert(offsetof(BestEffortSlot, heldNs) == 128);
static_assert(offsetof(BestEffortSlot, cappedNs) == 136);
static_assert(offsetof(BestEffortSlot, turnNs) == 144);
static_assert(offsetof(BestEffortSlot, emptyNs) == 152);
static_assert(offsetof(BestEffortSlot, variants) == 160);
static_assert(offsetof(BestEffortSlot, preemptible) == 168);
static_assert(offsetof(BestEffortSlot, graphGates) == 176);
static_assert(offsetof(BestEffortSlot, wholeGraphs) == 184);
static_assert(offsetof(BestEffortSlot, splitProducts) == 192);
static_assert(offsetof(BestEffortSlot, longKernels) == 200);
static_assert(offsetof(BestEffortSlot, longestNs) == 208);
static_assert(offsetof(BestEffortSlot, unknownLaunches) == 216);
static_assert(offsetof(BestEffortSlot, memoryUsed) == 224);
static_assert(offsetof(BestEffortSlot, memoryQuota) == 232);
static_assert(offsetof(BestEffortSlot, memoryRefusals) == 240);
static_assert(offsetof(BestEffortSlot, unhooked) == 248);
static_assert(offsetof(BestEffortSlot, caveats) == 252);

// All of it: one per GPU.
struct alignas(4096) Region {
  Header header;
  Settings settings;
  Activity activity;
  unsigned char pad0[3776];
  Holds holds;
  Marks marks[8];
  HighSlot high[32];
  BestEffortSlot bestEffort[8];
};
static_assert(sizeof(Region) == 1122304);
static_assert(offsetof(Region, header) == 0);
static_assert(offsetof(Region, settings) == 128);
static_assert(offsetof(Region, activity) == 256);
static_assert(offsetof(Region, holds) == 4096);
static_assert(offsetof(Region, marks) == 8192);
static_assert(offsetof(Region, high) == 40960);
static_assert(offsetof(Region, bestEffort) == 1089536);

// The first and only message of a client to the agent, once per GPU. With reattach comes the descriptor of the region, with variant that of a VariantRequest (SCM_RIGHTS). The connection stays open: its hang-up is the client's death notice.
struct alignas(8) Hello {
  std::uint32_t magic;  // MESSAGE_MAGIC
  std::uint32_t version;  // VERSION
  std::uint32_t kind;  // attach; reattach: the client already maps a region; variant: see VariantRequest
  std::uint32_t class_;  // see classes
  std::uint32_t pid;  // as the client sees it, in a PID namespace of its own perhaps
  std::int32_t slot;  // reattach: the slot it holds
  std::uint64_t startTime;
  std::int32_t gpuIndex;  // the driver's ordinal in that process
  std::uint32_t reserved;
  std::uint64_t memoryQuota;  // bytes; 0: none
  std::uint32_t sloP99Us;  // 0: none
  std::uint32_t sloSlowdownPermille;  // 0: none
  unsigned char gpuUuid[16];
  char name[48];
  char gpuName[64];
  std::uint32_t smCount;
  std::uint32_t soloUs;  // a request or iteration alone; 0: unknown
  std::uint32_t gpuSharePermille;  // part of that in which a kernel runs; 0: unknown
  std::uint32_t training;  // 1: it trains
};
static_assert(sizeof(Hello) == 200);
static_assert(offsetof(Hello, magic) == 0);
static_assert(offsetof(Hello, version) == 4);
static_assert(offsetof(Hello, kind) == 8);
static_assert(offsetof(Hello, class_) == 12);
static_assert(offsetof(Hello, pid) == 16);
static_assert(offsetof(Hello, slot) == 20);
static_assert(offsetof(Hello, startTime) == 24);
static_assert(offsetof(Hello, gpuIndex) == 32);
static_assert(offsetof(Hello, reserved) == 36);
static_assert(offsetof(Hello, memoryQuota) == 40);
static_assert(offsetof(Hello, sloP99Us) == 48);
static_assert(offsetof(Hello, sloSlowdownPermille) == 52);
static_assert(offsetof(Hello, gpuUuid) == 56);
static_assert(offsetof(Hello, name) == 72);
static_assert(offsetof(Hello, gpuName) == 120);
static_assert(offsetof(Hello, smCount) == 184);
static_assert(offsetof(Hello, soloUs) == 188);
static_assert(offsetof(Hello, gpuSharePermille) == 192);
static_assert(offsetof(Hello, training) == 196);

// The agent's answer. Where the status is ok, a descriptor comes with it (SCM_RIGHTS): the region's, or that of the variants that were asked for.
struct alignas(8) Welcome {
  std::uint32_t magic;  // MESSAGE_MAGIC
  std::uint32_t version;  // VERSION
  std::uint32_t status;  // see welcomeStatus
  std::int32_t slot;
  std::uint64_t memoryQuota;  // bytes that this client may have: what it asked for, or the operator's grant; 0: no limit
  char reason[200];  // why not, for people
};
static_assert(sizeof(Welcome) == 224);
static_assert(offsetof(Welcome, magic) == 0);
static_assert(offsetof(Welcome, version) == 4);
static_assert(offsetof(Welcome, status) == 8);
static_assert(offsetof(Welcome, slot) == 12);
static_assert(offsetof(Welcome, memoryQuota) == 16);
static_assert(offsetof(Welcome, reason) == 24);

// The beginning of the memory file that comes with a Hello of kind variant: which kernel wants a variant, or without a name all kernels of a module. The kernel's name and its PTX (text, or a fat binary) follow. The answer comes with a memory file with the PTX of that kernel and its variants; its slot is 1 if the preemptible variant is right only for blocks whose x size is a multiple of 32.
struct alignas(8) VariantRequest {
  std::uint32_t nameBytes;
  std::uint32_t reserved;
  std::uint64_t imageBytes;
};
static_assert(sizeof(VariantRequest) == 16);
static_assert(offsetof(VariantRequest, nameBytes) == 0);
static_assert(offsetof(VariantRequest, reserved) == 4);
static_assert(offsetof(VariantRequest, imageBytes) == 8);

// A client's profile as a file (COTENANT_KERNELS): this, then `count` entries, by rising key.
struct alignas(8) KernelTable {
  std::uint32_t magic;  // KERNEL_TABLE_MAGIC
  std::uint32_t version;  // VERSION
  std::uint32_t count;
  std::uint32_t soloUs;  // a request or iteration alone; 0: unknown
  std::uint32_t gpuSharePermille;  // part of that in which a kernel runs; 0: unknown
  std::uint32_t training;  // 1: it trains
  char gpuName[64];  // as the driver says it: on another GPU nothing of this holds
};
static_assert(sizeof(KernelTable) == 88);
static_assert(offsetof(KernelTable, magic) == 0);
static_assert(offsetof(KernelTable, version) == 4);
static_assert(offsetof(KernelTable, count) == 8);
static_assert(offsetof(KernelTable, soloUs) == 12);
static_assert(offsetof(KernelTable, gpuSharePermille) == 16);
static_assert(offsetof(KernelTable, training) == 20);
static_assert(offsetof(KernelTable, gpuName) == 24);

// One kernel in one launch shape.
struct alignas(8) KernelEntry {
  std::uint64_t key;  // FNV-1a, 64 bits: the name's bytes, then grid and block, x y z, four bytes each
  std::uint32_t class_;  // see kernelClasses
  std::uint32_t sms;  // SMs it fills, at most those of the GPU
  std::uint32_t durationNs;  // median
  std::uint32_t reserved;
};
static_assert(sizeof(KernelEntry) == 24);
static_assert(offsetof(KernelEntry, key) == 0);
static_assert(offsetof(KernelEntry, class_) == 8);
static_assert(offsetof(KernelEntry, sms) == 12);
static_assert(offsetof(KernelEntry, durationNs) == 16);
static_assert(offsetof(KernelEntry, reserved) == 20);

}  // namespace cotenant::protocol
