#include "operation.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "arithmetic.h"

namespace nccl {
namespace {

// About what nccl-tests measures between H100s with NVLink: the least time of a collective, and bytes a nanosecond.
constexpr std::uint64_t kLatencyNs = 15'000;
constexpr std::uint64_t kBytesPerNs = 370;
constexpr std::size_t kChannelBytes = 64 << 10;  // a channel, of one SM, is used from here on
constexpr std::size_t kMaxChannels = 24;

// Mangled as in libnccl.so.
std::string mangled(const std::string& name) {
  const std::string full = "ncclDevKernel_" + name;
  return "_Z" + std::to_string(full.size()) + full + "24ncclDevKernelArgsStorageILm4096EE";
}

const char* const kMoves[] = {"AllGather_RING", "Broadcast_RING", "SendRecv", "Generic"};
const char* const kReductions[] = {"AllReduce", "Reduce", "ReduceScatter"};

}  // namespace

std::string kernels() {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const auto add = [&](const std::string& name) {
    text += "//! soft ns=p1 sms=p2 meets=p0\n.visible .entry " + mangled(name) +
            "(.param .u64 meeting, .param .u64 ns, .param .u32 sms)\n{ ret; }\n";
  };
  for (const char* name : kMoves) add(name);
  for (const char* name : kReductions) {
    for (const ncclDataType_t type :
         {ncclUint8, ncclUint32, ncclUint64, ncclFloat16, ncclFloat32, ncclFloat64, ncclBfloat16})
      add(std::string(name) + "_" + name_of(type) + "_RING");
  }
  return text;
}

std::size_t Part::contributed(unsigned ranks) const {
  const std::size_t bytes = count * bytes_of(type);
  return kind == Kind::kReduceScatter ? bytes * ranks : kind == Kind::kReceive ? 0 : bytes;
}

Operation::Operation(std::shared_ptr<Exchange> exchange, std::vector<Part> parts, bool once)
    : Meeting{
          [](Meeting* self, unsigned phase, std::uint64_t at) { static_cast<Operation*>(self)->arrive_at(phase, at); },
          [](Meeting* self, unsigned phase) { return static_cast<Operation*>(self)->when_reached(phase); },
          [](Meeting* self) { static_cast<Operation*>(self)->finish(); }},
      exchange_(std::move(exchange)),
      parts_(std::move(parts)),
      once_(once) {}

// nccl-tests' PERFORMANCE.md: what each collective moves over each link of a ring of n ranks.
std::uint64_t Operation::duration() const {
  const std::uint64_t n = exchange_->ranks;
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) {
    const std::uint64_t size = part.count * bytes_of(part.type);
    switch (part.kind) {
      case Kind::kAllReduce: bytes += size * 2 * (n - 1) / n; break;
      case Kind::kReduceScatter:
      case Kind::kAllGather: bytes += size * (n - 1); break;
      default: bytes += size;
    }
  }
  return kLatencyNs + bytes / kBytesPerNs;
}

unsigned Operation::sms() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.count * bytes_of(part.type);
  return unsigned(std::clamp<std::size_t>(bytes / kChannelBytes, 1, kMaxChannels));
}

std::string Operation::kernel() const {
  const Part& first = parts_.front();
  const bool moves = std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return !part.is_collective(); });
  if (moves) return mangled("SendRecv");
  if (parts_.size() > 1) return mangled("Generic");
  if (first.kind == Kind::kAllGather) return mangled("AllGather_RING");
  if (first.kind == Kind::kBroadcast) return mangled("Broadcast_RING");
  if (first.op != ncclSum) return mangled("Generic");
  return mangled(std::string(kReductions[first.kind == Kind::kAllReduce ? 0
                                         : first.kind == Kind::kReduce  ? 1
                                                                        : 2]) +
                 "_" + name_of(first.type) + "_RING");
}

Operation::Members Operation::members(const Part& part) {
  Header& header = exchange_->header();
  const unsigned rank = exchange_->rank;
  if (part.is_collective()) return {header.collectives, rank, exchange_->ranks};
  if (part.kind == Kind::kSend) return {header.sends[rank][part.root], 0, 2};
  return {header.sends[part.root][rank], 1, 2};
}

void Operation::arrive_at(unsigned phase, std::uint64_t at) {
  for (Part& part : parts_) {
    const auto [lane, self, count] = members(part);
    if (phase == 0) {
      part.number = lane.arrived[0][self].load(std::memory_order_relaxed) + 1;
      Request& request = lane.requests[self][part.number % 2];
      request = {std::uint32_t(part.kind), std::uint32_t(part.type), std::uint32_t(part.op), part.root, part.count};
      if (!part.is_collective()) request.kind = request.root = 0;
      const std::size_t bytes = part.contributed(exchange_->ranks);
      const bool sends = part.kind != Kind::kBroadcast || part.root == exchange_->rank;
      unsigned char* place = part.is_collective() ? exchange_->staged(self, part.number)
                                                  : exchange_->sent(exchange_->rank, part.root, part.number);
      if (bytes > 0 && sends) std::memcpy(place, part.send, bytes);
    }
    lane.at[phase][self][part.number % 2].store(at, std::memory_order_relaxed);
    lane.arrived[phase][self].store(part.number, std::memory_order_release);  // with when_reached() of the others
  }
}

std::uint64_t Operation::when_reached(unsigned phase) {
  if (exchange_->aborted.load()) return 0;
  std::uint64_t latest = 0;
  for (const Part& part : parts_) {
    const auto [lane, self, count] = members(part);
    for (unsigned member = 0; member < count; ++member) {
      if (lane.arrived[phase][member].load(std::memory_order_acquire) < part.number) return kNotYet;
      latest = std::max(latest, lane.at[phase][member][part.number % 2].load(std::memory_order_relaxed));
    }
  }
  return latest;
}

// NCCL hangs or writes anything where ranks call different operations; here that is reported.
bool Operation::agree(const Part& part) {
  const auto [lane, self, count] = members(part);
  for (unsigned member = 0; member < count; ++member) {
    if (lane.requests[member][part.number % 2] == lane.requests[self][part.number % 2]) continue;
    if (!exchange_->mismatch.exchange(true))
      std::fprintf(stderr, "The stand-in for NCCL: ranks of %s call different operations as number %llu.\n",
                   exchange_->name.c_str(), static_cast<unsigned long long>(part.number));
    return false;
  }
  return true;
}

void Operation::take(const Part& part) {
  const unsigned ranks = exchange_->ranks;
  const unsigned rank = exchange_->rank;
  const std::size_t bytes = part.count * bytes_of(part.type);
  const void* inputs[kMaxRanks];
  for (unsigned from = 0; from < ranks; ++from) inputs[from] = exchange_->staged(from, part.number);
  switch (part.kind) {
    case Kind::kReduce:
      if (rank != part.root) return;
      [[fallthrough]];
    case Kind::kAllReduce: return reduce(part.type, part.op, inputs, ranks, part.receive, part.count);
    case Kind::kReduceScatter:
      for (unsigned from = 0; from < ranks; ++from)
        inputs[from] = static_cast<const char*>(inputs[from]) + bytes * rank;
      return reduce(part.type, part.op, inputs, ranks, part.receive, part.count);
    case Kind::kBroadcast: std::memcpy(part.receive, inputs[part.root], bytes); return;
    case Kind::kAllGather:
      for (unsigned from = 0; from < ranks; ++from)
        std::memcpy(static_cast<char*>(part.receive) + bytes * from, inputs[from], bytes);
      return;
    case Kind::kReceive: std::memcpy(part.receive, exchange_->sent(part.root, rank, part.number), bytes); return;
    case Kind::kSend: return;
  }
}

void Operation::finish() {
  if (!exchange_->aborted.load()) {
    for (const Part& part : parts_) {
      if (agree(part)) take(part);
    }
  }
  if (once_) delete this;
}

}  // namespace nccl
