// Generated from src/protocol/layout.ts by `npm run update`. Do not edit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// offsetof on structs that hold atomics is what this file is about.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace cotenant::protocol {

inline constexpr std::uint64_t MAGIC = 0x544e414e45544f43ull;
inline constexpr std::uint32_t VERSION = 14;
inline constexpr std::uint32_t REVISION = 3;
inline constexpr std::uint32_t PAGE = 4096;
inline constexpr std::uint32_t MAX_HIGH = 64;
inline constexpr std::uint32_t MAX_BEST_EFFORT = 16;
inline constexpr std::uint32_t MAX_SHARE = 100;
inline constexpr std::uint32_t BUCKETS_PER_OCTAVE = 128;
inline constexpr std::uint32_t OCTAVES = 26;
inline constexpr std::uint32_t CROWDED_QUEUE = 900;
inline constexpr std::uint32_t BURST_RECORDS = 1024;
inline constexpr std::uint32_t BURST_RECORD_WORDS = 4;
inline constexpr std::uint32_t SEGMENT_RECORDS = 512;
inline constexpr std::uint32_t SEGMENT_RECORD_WORDS = 4;
inline constexpr std::uint32_t SEGMENT_NODES_SHIFT = 24;
inline constexpr std::uint32_t SEGMENT_MAIN_SHIFT = 48;
inline constexpr std::uint32_t SLICE_RECORDS = 256;
inline constexpr std::uint32_t SLICE_RECORD_WORDS = 4;
inline constexpr std::uint32_t MAX_JOB_GPUS = 15;
inline constexpr std::uint32_t WANTED_TAGS = 256;
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

// Launchers report to a rank: how many there are, its number, how many of them are on this machine or on how many machines they
// are, and what names the job. Null: the launcher does not say.
struct Launcher {
  const char* ranks;
  const char* rank;
  const char* here;
  const char* nodes;
  const char* names[4];
};
inline constexpr Launcher LAUNCHERS[] = {
    {"WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", nullptr, {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", nullptr, "SLURM_STEP_NUM_NODES", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};
inline constexpr std::uint32_t MAX_GANG_RANKS = 16;
inline constexpr const char* GANG_TOO_LARGE = "more than 16 ranks";
inline constexpr const char* GANG_NO_RANK = "its number is not below that of the ranks";
inline constexpr const char* GANG_ELSEWHERE = "its ranks are on several machines";
inline constexpr const char* GANG_UNNAMED = "neither torchrun, Open MPI nor Slurm says which rank it is and of which job";

enum class Class : std::uint32_t {
  kNone = 0,
  kHigh = 1,
  kBestEffort = 2,
};
enum class Caveat : std::uint32_t {
  kRanks = 1,
  kGpus = 2,
  kPastUs = 4,
  kTooMany = 8,
};
enum class ParkState : std::uint32_t {
  kOpen = 0,
  kParking = 1,
  kParked = 2,
  kReturning = 3,
};
enum class Unmovable : std::uint32_t {
  kPools = 1,
  kManaged = 2,
  kArrays = 4,
  kGraphs = 8,
  kMapped = 16,
  kPlain = 32,
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
  kAsk = 4,
  kReport = 5,
  kLaunch = 6,
};
enum class WelcomeStatus : std::uint32_t {
  kOk = 0,
  kFull = 1,
  kRefused = 2,
  kAttachAnew = 3,
  kLater = 4,
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Written once, when an agent begins to serve a GPU.
struct alignas(64) Header {
  std::atomic<std::uint64_t> magic;  // MAGIC; written last, so a half-made region is not taken for a whole one
  std::atomic<std::uint32_t> version;  // VERSION
  std::atomic<std::uint32_t> size;  // bytes of Region
  std::atomic<std::uint64_t> pidNamespace;  // inode of the PID namespace in which the pids here are meant: the agent's
  std::atomic<std::uint32_t> agentPid;  // the agent that serves this GPU
  std::atomic<std::uint32_t> smCount;  // SMs of the GPU
  unsigned char gpuUuid[16];  // as the driver gives it
  char gpuName[64];
  std::atomic<std::uint32_t> revision;  // REVISION of the agent
  unsigned char pad0[140];
};
static_assert(sizeof(Header) == 256);
static_assert(offsetof(Header, magic) == 0);
static_assert(offsetof(Header, version) == 8);
static_assert(offsetof(Header, size) == 12);
static_assert(offsetof(Header, pidNamespace) == 16);
static_assert(offsetof(Header, agentPid) == 24);
static_assert(offsetof(Header, smCount) == 28);
static_assert(offsetof(Header, gpuUuid) == 32);
static_assert(offsetof(Header, gpuName) == 48);
static_assert(offsetof(Header, revision) == 112);

// The gate's parameter table: src/protocol/rules.ts describes each. A policy fills it; every client reads it.
struct alignas(64) Settings {
  std::atomic<std::uint32_t> known;  // how many gate parameters the agent writes
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
  std::atomic<std::uint32_t> quantumUs;
  std::atomic<std::uint32_t> progressAfterUs;
  std::atomic<std::uint32_t> progressEveryUs;
  std::atomic<std::uint32_t> unknownUs;
  std::atomic<std::uint32_t> submission;
  std::atomic<std::uint32_t> sampleEvery;
  std::atomic<std::uint32_t> copyPieceBytes;
  std::atomic<std::uint32_t> wantKernels;
  std::atomic<std::uint32_t> budgetUs;
  std::atomic<std::uint32_t> launchEveryNs;
  std::atomic<std::uint32_t> coRunEveryUs;
  std::atomic<std::uint32_t> preemptUs;
  std::atomic<std::uint32_t> graphGates;
  std::atomic<std::uint32_t> splitProductsUs;
  std::atomic<std::uint32_t> renewUs;
  std::atomic<std::uint32_t> graceUs;
  std::atomic<std::uint32_t> graceLaunches;
  std::atomic<std::uint32_t> startupTimeoutUs;
  std::atomic<std::uint32_t> coRunSliceUs;
  std::atomic<std::uint32_t> coRunUntilUs;
  std::atomic<std::uint32_t> coRunUntilLaunches;
  unsigned char pad0[884];
};
static_assert(sizeof(Settings) == 1024);
static_assert(offsetof(Settings, known) == 0);
static_assert(offsetof(Settings, protect) == 4);
static_assert(offsetof(Settings, isolated) == 8);
static_assert(offsetof(Settings, paused) == 12);
static_assert(offsetof(Settings, whenActive) == 16);
static_assert(offsetof(Settings, smLimit) == 20);
static_assert(offsetof(Settings, maxKernelUs) == 24);
static_assert(offsetof(Settings, chunkUs) == 28);
static_assert(offsetof(Settings, chunkLaunches) == 32);
static_assert(offsetof(Settings, activeAheadUs) == 36);
static_assert(offsetof(Settings, submitUs) == 40);
static_assert(offsetof(Settings, submitLaunches) == 44);
static_assert(offsetof(Settings, kernelsOut) == 48);
static_assert(offsetof(Settings, resumeDelayUs) == 52);
static_assert(offsetof(Settings, quantumUs) == 56);
static_assert(offsetof(Settings, progressAfterUs) == 60);
static_assert(offsetof(Settings, progressEveryUs) == 64);
static_assert(offsetof(Settings, unknownUs) == 68);
static_assert(offsetof(Settings, submission) == 72);
static_assert(offsetof(Settings, sampleEvery) == 76);
static_assert(offsetof(Settings, copyPieceBytes) == 80);
static_assert(offsetof(Settings, wantKernels) == 84);
static_assert(offsetof(Settings, budgetUs) == 88);
static_assert(offsetof(Settings, launchEveryNs) == 92);
static_assert(offsetof(Settings, coRunEveryUs) == 96);
static_assert(offsetof(Settings, preemptUs) == 100);
static_assert(offsetof(Settings, graphGates) == 104);
static_assert(offsetof(Settings, splitProductsUs) == 108);
static_assert(offsetof(Settings, renewUs) == 112);
static_assert(offsetof(Settings, graceUs) == 116);
static_assert(offsetof(Settings, graceLaunches) == 120);
static_assert(offsetof(Settings, startupTimeoutUs) == 124);
static_assert(offsetof(Settings, coRunSliceUs) == 128);
static_assert(offsetof(Settings, coRunUntilUs) == 132);
static_assert(offsetof(Settings, coRunUntilLaunches) == 136);

// The clients of the GPU, and the best-effort client whose turn it is.
struct alignas(64) Roster {
  std::atomic<std::uint32_t> registered;  // how many high clients are there to be protected
  std::atomic<std::uint32_t> bestEffort;  // a bit per best-effort slot that is taken
  std::atomic<std::uint32_t> waiting;  // a bit per best-effort slot that has work to run, where there are several
  std::atomic<std::uint32_t> turn;  // best-effort slot whose turn it is
  std::atomic<std::uint64_t> turnSince;  // monotonic ns
  std::atomic<std::uint64_t> lookedAt;  // monotonic ns at which the agent last looked who waits; of no use with one client
  std::atomic<std::uint32_t> holdsVersion;  // counts the control pages that high clients were sent
  std::atomic<std::uint32_t> shares[16];  // per best-effort slot, how many times quantumUs its turn lasts; 0 counts as 1
  unsigned char pad0[4];
  std::atomic<std::uint64_t> takeable;  // bytes of best-effort clients' memory that would be parked for a high client
  std::atomic<std::uint32_t> movers;  // a bit per best-effort slot whose client can park its memory
  unsigned char pad1[4];
  std::atomic<std::uint64_t> takeableAt;  // monotonic ns at which the agent last looked what is takeable, written after it
  std::atomic<std::uint32_t> moving;  // a bit per best-effort slot whose memory is being parked or returned, written before takeableAt
  unsigned char pad2[380];
};
static_assert(sizeof(Roster) == 512);
static_assert(offsetof(Roster, registered) == 0);
static_assert(offsetof(Roster, bestEffort) == 4);
static_assert(offsetof(Roster, waiting) == 8);
static_assert(offsetof(Roster, turn) == 12);
static_assert(offsetof(Roster, turnSince) == 16);
static_assert(offsetof(Roster, lookedAt) == 24);
static_assert(offsetof(Roster, holdsVersion) == 32);
static_assert(offsetof(Roster, shares) == 36);
static_assert(offsetof(Roster, takeable) == 104);
static_assert(offsetof(Roster, movers) == 112);
static_assert(offsetof(Roster, takeableAt) == 120);
static_assert(offsetof(Roster, moving) == 128);

// One high client's entry in a control page.
struct alignas(8) HoldOfHigh {
  std::atomic<std::uint64_t> copyUntil;  // monotonic ns: a copy over PCIe is in flight until then; all ones: till the end
  std::atomic<std::uint64_t> burstSince;  // monotonic ns
  std::atomic<std::uint32_t> longestUs;  // its longest burst
  std::atomic<std::uint32_t> beats;  // counts the samples of its helper thread; 0: it has none
  unsigned char pad0[24];
};
static_assert(sizeof(HoldOfHigh) == 48);
static_assert(offsetof(HoldOfHigh, copyUntil) == 0);
static_assert(offsetof(HoldOfHigh, burstSince) == 8);
static_assert(offsetof(HoldOfHigh, longestUs) == 16);
static_assert(offsetof(HoldOfHigh, beats) == 20);

// Facts of the high clients for one best-effort client, and the word on which its GPU waits.
struct alignas(4096) HoldPage {
  std::atomic<std::uint32_t> word;  // mapped read-only into the GPU's address space, which waits for it: 0 = released, 1 = held, 2 = its time slice is renewed
  std::atomic<std::uint32_t> highKernel;  // class and SM need of the latest high kernel: class << 16 | SMs; 0: unknown
  std::atomic<std::uint64_t> active;  // a bit per high slot: a burst is running
  std::atomic<std::uint64_t> activations;  // idle to active transitions of the GPU
  std::atomic<std::uint64_t> idleSince;  // monotonic ns at which the last burst ended
  std::atomic<std::uint32_t> highKernelUs;  // expected duration of the latest high kernel; 0: unknown
  std::atomic<std::uint32_t> reserved;
  std::atomic<std::uint64_t> releasedNs;  // that of the best-effort client's slot, which high clients don't see
  HoldOfHigh high[64];
  unsigned char pad0[976];
};
static_assert(sizeof(HoldPage) == 4096);
static_assert(offsetof(HoldPage, word) == 0);
static_assert(offsetof(HoldPage, highKernel) == 4);
static_assert(offsetof(HoldPage, active) == 8);
static_assert(offsetof(HoldPage, activations) == 16);
static_assert(offsetof(HoldPage, idleSince) == 24);
static_assert(offsetof(HoldPage, highKernelUs) == 32);
static_assert(offsetof(HoldPage, reserved) == 36);
static_assert(offsetof(HoldPage, releasedNs) == 40);
static_assert(offsetof(HoldPage, high) == 48);

// Memory of one client that can be parked, and what the agent asks of it. A high client parks by itself; one that does not has memoryWanted alone.
struct alignas(8) Movable {
  std::atomic<std::uint32_t> movable;  // 1: its memory is movable
  std::atomic<std::uint32_t> parkAsked;  // written by the agent, counts its commands: odd: park its memory; even: return it
  std::atomic<std::uint32_t> parkAnswered;  // the last of them that the client has carried out or refused
  std::atomic<std::uint32_t> parkState;  // see ParkState
  std::atomic<std::uint32_t> unmovable;  // bits of Unmovable: memory of it that cannot be moved
  std::atomic<std::uint32_t> memoryAnswer;  // written by the agent at each sample while memoryWanted is not 0: 1 if memory comes, 0 if it has none to take; 2 times a count of its answers; and 2^24 times the tag
  std::atomic<std::uint64_t> parkBytes;  // written by the agent before a command to park: how much is to be parked in all, rounded up to whole allocations; 0: everything
  std::atomic<std::uint64_t> movableBytes;  // bytes of the GPU's memory that can be moved, or are parked
  std::atomic<std::uint64_t> movableAsked;  // the part of them that the program asked for
  std::atomic<std::uint64_t> parkedBytes;  // the part of movableBytes that is in host memory
  std::atomic<std::uint64_t> pinnedBytes;  // host memory that is pinned for them
  std::atomic<std::uint64_t> parkedSinceNs;  // monotonic ns; 0: not parked
  std::atomic<std::uint64_t> parkNs;  // how long the last parking took, from the command to the release of the memory
  std::atomic<std::uint64_t> returnNs;  // how long the last return took, from the time when the memory fitted
  std::atomic<std::uint64_t> firstAnswerNs;  // high: from the first call that waited for parked memory until the end of the burst that it began, the last time
  std::atomic<std::uint64_t> woken;  // high: how many times there was such a call
  std::atomic<std::uint64_t> memoryWanted;  // bytes of an allocation that the driver refused and that waits for memory of best-effort clients, rounded up to WANTED_TAGS, and a tag that differs from that of the allocation before; 0: none
  char parkReason[128];  // why it is not parked, or not yet back; empty: nothing is wrong
  unsigned char moveTo[16];  // written by the agent before a command to return: the UUID of the GPU that it is to go on with; zeros: the one it has
  std::atomic<std::uint32_t> byDriver;  // 1: the driver's checkpoint of the process has moved it, and parkedBytes are all its bytes
  unsigned char pad0[124];
};
static_assert(sizeof(Movable) == 384);
static_assert(offsetof(Movable, movable) == 0);
static_assert(offsetof(Movable, parkAsked) == 4);
static_assert(offsetof(Movable, parkAnswered) == 8);
static_assert(offsetof(Movable, parkState) == 12);
static_assert(offsetof(Movable, unmovable) == 16);
static_assert(offsetof(Movable, memoryAnswer) == 20);
static_assert(offsetof(Movable, parkBytes) == 24);
static_assert(offsetof(Movable, movableBytes) == 32);
static_assert(offsetof(Movable, movableAsked) == 40);
static_assert(offsetof(Movable, parkedBytes) == 48);
static_assert(offsetof(Movable, pinnedBytes) == 56);
static_assert(offsetof(Movable, parkedSinceNs) == 64);
static_assert(offsetof(Movable, parkNs) == 72);
static_assert(offsetof(Movable, returnNs) == 80);
static_assert(offsetof(Movable, firstAnswerNs) == 88);
static_assert(offsetof(Movable, woken) == 96);
static_assert(offsetof(Movable, memoryWanted) == 104);
static_assert(offsetof(Movable, parkReason) == 112);
static_assert(offsetof(Movable, moveTo) == 240);
static_assert(offsetof(Movable, byDriver) == 256);

// One high client on this GPU.
struct alignas(4096) HighSlot {
  std::atomic<std::uint64_t> launches;  // kernels and graphs submitted
  std::atomic<std::uint64_t> copies;  // copies and memsets submitted
  std::atomic<std::uint64_t> bursts;  // bursts ended
  std::atomic<std::uint64_t> busySince;  // monotonic ns; 0: idle
  std::atomic<std::uint64_t> busyNs;  // time in bursts, ended ones only
  std::atomic<std::uint64_t> aheadNs;  // queued-ahead work found at the bursts' starts, summed
  std::atomic<std::uint64_t> aheadMaxNs;  // the largest of these since the agent last cleared it
  std::atomic<std::uint64_t> tailWrites;  // sequence words that the GPU writes behind its work
  std::atomic<std::uint64_t> timeouts;  // bursts, or streams of one, that were given up: nothing showed their end
  std::atomic<std::uint32_t> unhooked;  // calls of the driver's functions that are not replaced though they may submit work
  std::atomic<std::uint32_t> caveats;  // bits of Caveat: what of it is not protected, or not held back
  std::atomic<std::uint32_t> histogram[3328];  // bursts by duration
  std::atomic<std::uint32_t> waits[3328];  // the same bursts, by the time waited for the GPU in them
  std::atomic<std::uint64_t> sharedNs;  // time in bursts in which best-effort work was not held: it started up, or see startupTimeoutUs
  std::atomic<std::uint32_t> holdsVersion;  // the roster's, when this client had mapped all control pages
  std::atomic<std::uint32_t> starting;  // 1: it starts up, and shares the GPU until it serves
  Movable memory;
  std::atomic<std::uint32_t> serves;  // written by the agent: 1: the service's endpoint answers, so it does not start up
  std::atomic<std::uint32_t> requestsOpen;  // requests that the program has begun and not ended
  std::atomic<std::uint64_t> requestsFailed;  // requests that it ended as failed; they are in no histogram of requests
  std::atomic<std::uint64_t> requestsForgotten;  // requests that were begun and not ended when their place was needed
  std::atomic<std::uint64_t> requestValues;  // values in the next four histograms; counted after the value
  std::atomic<std::uint32_t> ttft[3328];  // requests by the time from their start to their first progress
  std::atomic<std::uint32_t> tpot[3328];  // requests by the mean time of each unit after the first
  std::atomic<std::uint32_t> itl[3328];  // times from one progress of a request to the next
  std::atomic<std::uint32_t> e2e[3328];  // requests by the time from their start to their end
  std::atomic<std::uint64_t> burstRecords[4096];  // the latest bursts, number n (`bursts` before it) at n modulo BURST_RECORDS: begin and end in monotonic ns, ns waited for the GPU, `launches` at the end
  std::atomic<std::uint64_t> segments;  // segments ended
  std::atomic<std::uint64_t> segmentRecords[2048];  // the latest segments, number n (`segments` before it) at n modulo SEGMENT_RECORDS: begin and end in monotonic ns, ns waited for the GPU, submissions and graph nodes and whether it has the main work of a step (SEGMENT_NODES_SHIFT, SEGMENT_MAIN_SHIFT). A segment is the work that one observed completion showed to be done; it begins where the one before ended, or with its burst
  std::atomic<std::uint32_t> jobVersion;  // written by the agent, like the next four; odd: they change just now; else a count of their changes
  std::atomic<std::uint32_t> jobCount;  // how many other GPUs the ranks of this client's job use; it holds best-effort work on them, too
  unsigned char jobGpus[240];  // the UUIDs of these GPUs
  std::atomic<std::uint32_t> jobSlots[15];  // on each of them 1 more than the slot of a client whose steps this client observes; 0: there is none
  std::atomic<std::uint32_t> follows;  // 1: another client of the job observes this client's steps
  std::atomic<std::uint32_t> ranks;  // 1: it may need other ranks: a launcher says so, or it has looked up a kernel that waits for them
  unsigned char pad0[1212];
};
static_assert(sizeof(HighSlot) == 131072);
static_assert(offsetof(HighSlot, launches) == 0);
static_assert(offsetof(HighSlot, copies) == 8);
static_assert(offsetof(HighSlot, bursts) == 16);
static_assert(offsetof(HighSlot, busySince) == 24);
static_assert(offsetof(HighSlot, busyNs) == 32);
static_assert(offsetof(HighSlot, aheadNs) == 40);
static_assert(offsetof(HighSlot, aheadMaxNs) == 48);
static_assert(offsetof(HighSlot, tailWrites) == 56);
static_assert(offsetof(HighSlot, timeouts) == 64);
static_assert(offsetof(HighSlot, unhooked) == 72);
static_assert(offsetof(HighSlot, caveats) == 76);
static_assert(offsetof(HighSlot, histogram) == 80);
static_assert(offsetof(HighSlot, waits) == 13392);
static_assert(offsetof(HighSlot, sharedNs) == 26704);
static_assert(offsetof(HighSlot, holdsVersion) == 26712);
static_assert(offsetof(HighSlot, starting) == 26716);
static_assert(offsetof(HighSlot, memory) == 26720);
static_assert(offsetof(HighSlot, serves) == 27104);
static_assert(offsetof(HighSlot, requestsOpen) == 27108);
static_assert(offsetof(HighSlot, requestsFailed) == 27112);
static_assert(offsetof(HighSlot, requestsForgotten) == 27120);
static_assert(offsetof(HighSlot, requestValues) == 27128);
static_assert(offsetof(HighSlot, ttft) == 27136);
static_assert(offsetof(HighSlot, tpot) == 40448);
static_assert(offsetof(HighSlot, itl) == 53760);
static_assert(offsetof(HighSlot, e2e) == 67072);
static_assert(offsetof(HighSlot, burstRecords) == 80384);
static_assert(offsetof(HighSlot, segments) == 113152);
static_assert(offsetof(HighSlot, segmentRecords) == 113160);
static_assert(offsetof(HighSlot, jobVersion) == 129544);
static_assert(offsetof(HighSlot, jobCount) == 129548);
static_assert(offsetof(HighSlot, jobGpus) == 129552);
static_assert(offsetof(HighSlot, jobSlots) == 129792);
static_assert(offsetof(HighSlot, follows) == 129852);
static_assert(offsetof(HighSlot, ranks) == 129856);

// One best-effort client on this GPU. Times in ns.
struct alignas(4096) BestEffortSlot {
  std::atomic<std::uint32_t> done[1024];  // a page that the GPU writes: chunks finished, a word per stream
  std::atomic<std::uint32_t> waiting;  // 1: it has work to run
  unsigned char pad0[4];
  std::atomic<std::uint64_t> launches;  // kernels submitted
  std::atomic<std::uint64_t> graphs;  // graphs submitted
  std::atomic<std::uint64_t> copies;  // copies and memsets submitted
  std::atomic<std::uint64_t> submittedNs;  // expected GPU time submitted, in all
  std::atomic<std::uint64_t> finishedNs;  // expected GPU time known to have finished, in all
  std::atomic<std::uint64_t> releasedNs;  // queued-ahead work: expected GPU time released and not known finished
  std::atomic<std::uint64_t> chunks;  // chunk borders put into streams
  std::atomic<std::uint64_t> minProgress;  // times a pause was broken by minimum progress
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
  char longestName[128];  // its name as in the code, cut; empty: not known
  std::atomic<std::uint64_t> unknownLaunches;  // launches of kernels never seen before
  std::atomic<std::uint64_t> memoryUsed;  // bytes
  std::atomic<std::uint64_t> memoryQuota;  // bytes; 0: none
  std::atomic<std::uint64_t> memoryRefusals;  // allocations refused over the quota
  std::atomic<std::uint32_t> unhooked;  // calls of the driver's functions that are not replaced though they may submit work
  std::atomic<std::uint32_t> caveats;  // bits of Caveat: what of it is not protected, or not held back
  Movable memory;
  std::atomic<std::uint64_t> slices;  // times that its work was let through during a request, ended ones only
  std::atomic<std::uint64_t> sliceRecords[1024];  // the latest of them, number n (`slices` before it) at n modulo SLICE_RECORDS: when its word was cleared, when the GPU was first seen to have come farther (0: it was not), and when the word was set again or no request was active any more, in monotonic ns; expected GPU time that finished meanwhile, in ns
  std::atomic<std::uint32_t> gangRanks;  // ranks of the gang that the client is one of; 0: it is no rank
  unsigned char pad1[4];
  std::atomic<std::uint64_t> commits;  // collectives, sends, receives and groups of the rank that were committed
  std::atomic<std::uint64_t> commitTimeouts;  // the part of them whose wait for other ranks timed out
  std::atomic<std::uint64_t> commitProgress;  // the part of them that a pause held up for as long as minimum progress allows
  unsigned char pad2[3344];
};
static_assert(sizeof(BestEffortSlot) == 16384);
static_assert(offsetof(BestEffortSlot, done) == 0);
static_assert(offsetof(BestEffortSlot, waiting) == 4096);
static_assert(offsetof(BestEffortSlot, launches) == 4104);
static_assert(offsetof(BestEffortSlot, graphs) == 4112);
static_assert(offsetof(BestEffortSlot, copies) == 4120);
static_assert(offsetof(BestEffortSlot, submittedNs) == 4128);
static_assert(offsetof(BestEffortSlot, finishedNs) == 4136);
static_assert(offsetof(BestEffortSlot, releasedNs) == 4144);
static_assert(offsetof(BestEffortSlot, chunks) == 4152);
static_assert(offsetof(BestEffortSlot, minProgress) == 4160);
static_assert(offsetof(BestEffortSlot, heldNs) == 4168);
static_assert(offsetof(BestEffortSlot, cappedNs) == 4176);
static_assert(offsetof(BestEffortSlot, turnNs) == 4184);
static_assert(offsetof(BestEffortSlot, emptyNs) == 4192);
static_assert(offsetof(BestEffortSlot, variants) == 4200);
static_assert(offsetof(BestEffortSlot, preemptible) == 4208);
static_assert(offsetof(BestEffortSlot, graphGates) == 4216);
static_assert(offsetof(BestEffortSlot, wholeGraphs) == 4224);
static_assert(offsetof(BestEffortSlot, splitProducts) == 4232);
static_assert(offsetof(BestEffortSlot, longKernels) == 4240);
static_assert(offsetof(BestEffortSlot, longestNs) == 4248);
static_assert(offsetof(BestEffortSlot, longestName) == 4256);
static_assert(offsetof(BestEffortSlot, unknownLaunches) == 4384);
static_assert(offsetof(BestEffortSlot, memoryUsed) == 4392);
static_assert(offsetof(BestEffortSlot, memoryQuota) == 4400);
static_assert(offsetof(BestEffortSlot, memoryRefusals) == 4408);
static_assert(offsetof(BestEffortSlot, unhooked) == 4416);
static_assert(offsetof(BestEffortSlot, caveats) == 4420);
static_assert(offsetof(BestEffortSlot, memory) == 4424);
static_assert(offsetof(BestEffortSlot, slices) == 4808);
static_assert(offsetof(BestEffortSlot, sliceRecords) == 4816);
static_assert(offsetof(BestEffortSlot, gangRanks) == 13008);
static_assert(offsetof(BestEffortSlot, commits) == 13016);
static_assert(offsetof(BestEffortSlot, commitTimeouts) == 13024);
static_assert(offsetof(BestEffortSlot, commitProgress) == 13032);

// All of it, for one GPU.
struct alignas(4096) Region {
  Header header;
  Settings settings;
  Roster roster;
  unsigned char pad0[2304];
  HoldPage holds[16];
  HighSlot high[64];
  BestEffortSlot bestEffort[16];
};
static_assert(sizeof(Region) == 8720384);
static_assert(offsetof(Region, header) == 0);
static_assert(offsetof(Region, settings) == 256);
static_assert(offsetof(Region, roster) == 1280);
static_assert(offsetof(Region, holds) == 4096);
static_assert(offsetof(Region, high) == 69632);
static_assert(offsetof(Region, bestEffort) == 8458240);

// The first and only message of a client to the agent, once per GPU. With reattach come the client's own files (SCM_RIGHTS): its slot, and of a best-effort client its control page; with variant that of a VariantRequest; with launch one of words (src/agent/launches/message.ts). The connection stays open: its hang-up is the client's death notice.
struct alignas(8) Hello {
  std::uint32_t magic;  // MESSAGE_MAGIC
  std::uint32_t version;  // VERSION
  std::uint32_t kind;  // attach; reattach: the client has a slot from the last agent; variant: see VariantRequest
  std::uint32_t class_;  // see classes
  std::uint32_t pid;  // as the client sees it, in a PID namespace of its own perhaps
  std::int32_t slot;  // reattach: the slot it holds
  std::uint64_t startTime;
  std::int32_t gpuIndex;  // the driver's ordinal in that process
  std::uint32_t reserved;
  std::uint64_t memoryQuota;  // bytes; 0: none
  std::uint32_t sloP99Us;  // 0: none
  std::uint32_t sloSlowdownPermille;  // 0: none
  std::uint32_t sloTtftUs;  // of requests, as the next three; 0: none
  std::uint32_t sloTpotUs;
  std::uint32_t sloItlUs;
  std::uint32_t sloE2eUs;
  char sloMetrics[160];  // the address of the endpoint at which the service reports its requests
  unsigned char gpuUuid[16];
  char name[48];
  char gpuName[64];
  std::uint32_t smCount;
  std::uint32_t soloUs;  // a request or iteration alone; 0: unknown
  std::uint32_t gpuSharePermille;  // part of that in which a kernel runs; 0: unknown
  std::uint32_t training;  // 1: it trains
  std::uint32_t revision;  // REVISION of the client's library
  char slo[256];  // the whole objective, as texts such as ttft.p90=200ms with blanks between them; empty: what the fields above say
  std::uint32_t holdsOnly;  // 1: the process does not use this GPU. Other ranks of its job do, and it holds best-effort work there while it is active
  unsigned char pad0[384];
};
static_assert(sizeof(Hello) == 1024);
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
static_assert(offsetof(Hello, sloTtftUs) == 56);
static_assert(offsetof(Hello, sloTpotUs) == 60);
static_assert(offsetof(Hello, sloItlUs) == 64);
static_assert(offsetof(Hello, sloE2eUs) == 68);
static_assert(offsetof(Hello, sloMetrics) == 72);
static_assert(offsetof(Hello, gpuUuid) == 232);
static_assert(offsetof(Hello, name) == 248);
static_assert(offsetof(Hello, gpuName) == 296);
static_assert(offsetof(Hello, smCount) == 360);
static_assert(offsetof(Hello, soloUs) == 364);
static_assert(offsetof(Hello, gpuSharePermille) == 368);
static_assert(offsetof(Hello, training) == 372);
static_assert(offsetof(Hello, revision) == 376);
static_assert(offsetof(Hello, slo) == 380);
static_assert(offsetof(Hello, holdsOnly) == 636);

// The agent's answer. Where the status is ok, files come with it (SCM_RIGHTS): the common one, the client's slot, and the control pages of `holds` by rising slot; or that of the variants that were asked for, or one with a HighSlot, of which the counters of requests are read, for a report; or the words that answer a launch. A high client is sent further control pages later: see NewHold.
struct alignas(8) Welcome {
  std::uint32_t magic;  // MESSAGE_MAGIC
  std::uint32_t version;  // VERSION
  std::uint32_t status;  // see welcomeStatus
  std::int32_t slot;
  std::uint64_t memoryQuota;  // bytes that this client may have: what it asked for, or the operator's grant; 0: no limit
  std::uint32_t holds;  // a bit per best-effort slot whose control page comes
  std::uint32_t holdsVersion;  // the roster's, with these
  char reason[200];  // why not, for people
  std::uint32_t revision;  // REVISION of the agent
  unsigned char pad0[276];
};
static_assert(sizeof(Welcome) == 512);
static_assert(offsetof(Welcome, magic) == 0);
static_assert(offsetof(Welcome, version) == 4);
static_assert(offsetof(Welcome, status) == 8);
static_assert(offsetof(Welcome, slot) == 12);
static_assert(offsetof(Welcome, memoryQuota) == 16);
static_assert(offsetof(Welcome, holds) == 24);
static_assert(offsetof(Welcome, holdsVersion) == 28);
static_assert(offsetof(Welcome, reason) == 32);
static_assert(offsetof(Welcome, revision) == 232);

// From the agent to a high client: the control page of a best-effort client comes with it (SCM_RIGHTS). After it the roster's holdsVersion grows.
struct alignas(8) NewHold {
  std::uint32_t magic;  // MESSAGE_MAGIC
  std::uint32_t slot;  // of the best-effort client
  unsigned char pad0[56];
};
static_assert(sizeof(NewHold) == 64);
static_assert(offsetof(NewHold, magic) == 0);
static_assert(offsetof(NewHold, slot) == 4);

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
