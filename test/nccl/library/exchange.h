// The ranks of a communicator share one file, which all of them map, threads and processes alike. The last to map it
// removes its name, so a rank that is killed leaves nothing behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace nccl {

inline constexpr unsigned kMaxRanks = 8;
// Limit of what one rank contributes to one operation. Staged data takes memory of the host as far as it is written.
inline constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

// All members of an operation state the same, or the operation has no result.
struct Request {
  std::uint32_t kind = 0;
  std::uint32_t type = 0;
  std::uint32_t op = 0;
  std::uint32_t root = 0;
  std::uint64_t count = 0;
  bool operator==(const Request& other) const {
    return kind == other.kind && type == other.type && op == other.op && root == other.root && count == other.count;
  }
};

// Operations that follow each other with the same members: all collectives of a communicator, or all that one rank
// sends to another one. They are numbered from 1. A member is at most one operation ahead, so two places suffice.
struct Lane {
  std::atomic<std::uint64_t> arrived[2][kMaxRanks];  // by phase: the number of the member's last operation there
  std::atomic<std::uint64_t> at[2][kMaxRanks][2];    // by number modulo 2: when, ns
  Request requests[kMaxRanks][2];
};

struct Header {
  std::atomic<std::uint32_t> joined;
  // Splits: what each rank asks for, by number modulo 2.
  std::atomic<std::uint32_t> split[kMaxRanks];
  std::int32_t colors[kMaxRanks][2];
  std::int32_t keys[kMaxRanks][2];
  Lane collectives;
  Lane sends[kMaxRanks][kMaxRanks];  // from, to; member 0 is who sends
};

class Exchange {
 public:
  // Null: the file can't be made; errno says why.
  static std::shared_ptr<Exchange> join(const std::string& name, unsigned ranks, unsigned rank);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void wait_for_all();  // until every rank has joined

  Header& header() { return *header_; }
  // kMaxBytes of rank `from` for the operation `number` of the collectives, or of what it sends to `to`.
  unsigned char* staged(unsigned from, std::uint64_t number);
  unsigned char* sent(unsigned from, unsigned to, std::uint64_t number);

  const std::string name;
  const unsigned ranks;
  const unsigned rank;
  std::atomic<bool> aborted{false};  // by this rank
  std::atomic<bool> mismatch{false};

 private:
  Exchange(std::string its_name, unsigned its_ranks, unsigned its_rank)
      : name(std::move(its_name)), ranks(its_ranks), rank(its_rank) {}
  [[nodiscard]] std::string path() const;
  Header* header_ = nullptr;
};

std::string fresh_name();  // of a communicator
void pause_a_little();

}  // namespace nccl
