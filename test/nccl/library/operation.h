// One kernel of a rank: a collective, sends and receives, or all that a group joins.
#pragma once

#include <memory>
#include <vector>

#include "exchange.h"
#include "nccl.h"
#include "softgpu/engine/meeting.h"

namespace nccl {

enum class Kind : std::uint32_t { kAllReduce, kReduce, kBroadcast, kReduceScatter, kAllGather, kSend, kReceive };

struct Part {
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // elements, as the call states them
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  unsigned root = 0;  // the root, or the peer
  std::uint64_t number = 0;  // in its lane, from its kernel's start on

  [[nodiscard]] bool is_collective() const { return kind < Kind::kSend; }
  // Bytes that this rank contributes, of `ranks`.
  [[nodiscard]] std::size_t contributed(unsigned ranks) const;
};

class Operation : public cotenant::soft::Meeting {
 public:
  // `once`: its kernel runs once, and not in a graph.
  Operation(std::shared_ptr<Exchange> exchange, std::vector<Part> parts, bool once);

  [[nodiscard]] std::uint64_t duration() const;  // ns, from the start of the last member's kernel on
  [[nodiscard]] unsigned sms() const;
  [[nodiscard]] std::string kernel() const;

 private:
  struct Members {
    Lane& lane;
    unsigned self;
    unsigned count;
  };
  Members members(const Part& part);
  void arrive_at(unsigned phase, std::uint64_t at);
  std::uint64_t when_reached(unsigned phase);
  void finish();
  void take(const Part& part);
  bool agree(const Part& part);

  std::shared_ptr<Exchange> exchange_;
  std::vector<Part> parts_;
  bool once_;
};

// PTX with all kernels of the library.
std::string kernels();

}  // namespace nccl
