// The memory that the ranks of a gang share: which operations each rank has launched, how far its GPU has come, and what
// is committed (docs/design/decisions/0050, lab/gangs/protocol.ts). It is a file of one user in /dev/shm, whose name the
// last rank to come removes. All of it is zero at first.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/base/own_descriptor.h"
#include "interposer/process/environment.h"

namespace cotenant::gangs {

inline constexpr std::uint32_t kRanks = protocol::MAX_GANG_RANKS;
// Operations of a rank that are known at one time. The next one waits until the first of them has ended.
inline constexpr std::uint32_t kOperations = 128;
inline constexpr std::uint32_t kStreams = 4;  // of one operation
inline constexpr std::uint32_t kParts = 128;
inline constexpr std::uint32_t kCommunicators = 512;
inline constexpr std::uint32_t kLetGo = 1024;
inline constexpr std::size_t kPage = 4096;

// A collective, or one end of a send and its receive. All its members have the same lane and number: the lane is the
// communicator, or a pair of ranks in it, and each lane has numbers of its own.
struct Part {
  std::atomic<std::uint64_t> lane;
  std::atomic<std::uint64_t> number;
  std::atomic<std::uint64_t> communicator;
  std::atomic<std::uint32_t> members;
};

// A rank's GPU begins an operation at once: it is a part, or all parts of a group. Its number, the ticket, counts the rank's operations
// from 1 in the order in which its program launches them; the operation is at its ticket modulo kOperations.
struct Operation {
  std::atomic<std::uint32_t> ticket;  // written after the rest; 0: none
  std::atomic<std::uint32_t> streams;
  std::atomic<std::uint32_t> parts;
  std::atomic<std::uint32_t> let_go;  // it heeds no pause until it has ended
  Part part[kParts];
};

// A page that the rank's GPU writes: the ticket of an operation that a stream has reached, and of one that it has done.
struct alignas(kPage) Progress {
  std::atomic<std::uint32_t> arrived[kOperations][kStreams];
  std::atomic<std::uint32_t> done[kOperations][kStreams];
};
static_assert(sizeof(Progress) == kPage);

// A page that the rank's GPU reads: it waits until the ticket is there.
struct alignas(kPage) Commits {
  std::atomic<std::uint32_t> committed[kOperations];
};
static_assert(sizeof(Commits) == kPage);

// Written by the rank, but for what the decider counts.
struct Rank {
  Progress progress;
  Commits commits;
  std::atomic<std::uint32_t> pid;  // written after `started`; 0: it has not come yet
  std::atomic<std::uint32_t> launched;  // the last ticket
  std::atomic<std::uint64_t> started;  // its start time, with which the pid names it
  // Where its control page is: a descriptor of the process, and an offset. The version is odd while they change.
  std::atomic<std::uint32_t> page_version;
  std::atomic<std::int32_t> page_file;
  std::atomic<std::uint64_t> page_offset;
  // Counted by the decider.
  std::atomic<std::uint64_t> committed;
  std::atomic<std::uint64_t> timed_out;
  std::atomic<std::uint64_t> min_progress;
  Operation operations[kOperations];
};

struct Communicator {
  std::atomic<std::uint64_t> key;  // 0: free
  std::atomic<std::uint32_t> ranks;  // a bit for each rank of the gang that is in it
};

struct LetGo {
  std::atomic<std::uint64_t> key;  // a lane; 0: free
  std::atomic<std::uint64_t> number;  // operations up to this one
};

struct Block {
  std::atomic<std::uint32_t> ranks;  // of the gang; written by the first to come
  std::atomic<std::uint32_t> joined;
  std::atomic<std::uint64_t> pid_namespace;
  std::atomic<std::uint32_t> decider;  // the rank that decides, plus 1
  std::atomic<std::uint32_t> launches;  // of all ranks; the decider sleeps until it changes
  std::atomic<std::uint32_t> sleeps;  // 1: the decider does
  Communicator communicators[kCommunicators];
  LetGo let_go[kLetGo];
  Rank rank[kRanks];
};

struct Joined {
  Block* block;  // null: `why`
  OwnDescriptor file;
  const char* why;
};

// Maps the gang's block, and takes the place of this rank in it. Blocks for some seconds at most.
[[nodiscard]] Joined join(const Gang& gang) noexcept;

[[nodiscard]] bool lives(const Rank& rank) noexcept;

}  // namespace cotenant::gangs
