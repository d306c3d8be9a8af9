// The connection of this process to the agent of the machine, for one GPU: the shared memory, a slot in it, and a socket
// that closes when the client exits, which is how the agent learns of it. The memory has the layout of protocol::Region,
// in which each file that the agent sends is mapped in its place; elsewhere are zeros of this process. After a restart
// the agent sends new files for some places. If it has no use for the old ones, a new link replaces this one. The old one
// stays mapped for ever, because a thread may still read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "driver/abi.h"
#include "generated/protocol.h"
#include "interposer/agent/knock.h"
#include "interposer/process/process.h"

namespace cotenant {

// Where a part of the shared memory is in a file of this process.
struct Part {
  OwnDescriptor file;  // none: in none
  std::size_t offset;
};

struct Link {
  protocol::Region* region;
  std::uint32_t slot;
  OwnDescriptor common;  // the file that all clients have; open, so that another agent sees whose client this is
  Part slot_part;  // these two go to a restarted agent
  Part hold_part;  // of a best-effort client
  OwnDescriptor socket;
  bool attached;  // false: memory of its own, for a best-effort client without an agent
  std::uint64_t memory_quota{0};  // bytes that the agent allows; 0: no limit
  std::uint32_t holds_version{0};  // of a high client: the roster's, when the control pages were mapped
  Link* before{nullptr};  // the link that this one replaced

  [[nodiscard]] protocol::HighSlot& high() const noexcept { return region->high[slot]; }
  [[nodiscard]] protocol::BestEffortSlot& best_effort() const noexcept { return region->bestEffort[slot]; }
  [[nodiscard]] protocol::Movable& memory() const noexcept {
    return role() == Role::kHigh ? high().memory : best_effort().memory;
  }
  // The control page of a best-effort client.
  [[nodiscard]] protocol::HoldPage& hold_page() const noexcept { return region->holds[slot]; }
  [[nodiscard]] std::atomic<std::uint32_t>& hold() const noexcept { return hold_page().word; }
};

// Calls `use` with the control page of each best-effort client of this GPU, for a high client.
template <typename Use>
void each_hold(const Link& link, Use use) noexcept {
  constexpr std::uint32_t kAll = (1u << protocol::MAX_BEST_EFFORT) - 1;
  std::uint32_t left = link.region->roster.bestEffort.load(std::memory_order_relaxed) & kAll;
  for (; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::uint32_t>(__builtin_ctz(left));
    use(link.region->holds[slot], slot);
  }
}

// UUID of a GPU. Threads read it while a process moves to another one.
class Uuid {
 public:
  constexpr Uuid() noexcept = default;
  Uuid(const Uuid& other) noexcept { *this = other; }
  Uuid& operator=(const Uuid& other) noexcept {
    for (int i = 0; i < 2; ++i)
      half_[i].store(other.half_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  [[nodiscard]] bool operator==(const Uuid& other) const noexcept {
    return half_[0].load(std::memory_order_relaxed) == other.half_[0].load(std::memory_order_relaxed) &&
           half_[1].load(std::memory_order_relaxed) == other.half_[1].load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_set() const noexcept { return !(*this == Uuid()); }
  // 16 bytes, as the driver gives them.
  void read(const void* bytes) noexcept {
    std::uint64_t halves[2];
    std::memcpy(halves, bytes, sizeof halves);
    for (int i = 0; i < 2; ++i) half_[i].store(halves[i], std::memory_order_relaxed);
  }
  void write(void* bytes) const noexcept {
    const std::uint64_t halves[2] = {half_[0].load(std::memory_order_relaxed),
                                     half_[1].load(std::memory_order_relaxed)};
    std::memcpy(bytes, halves, sizeof halves);
  }

 private:
  std::atomic<std::uint64_t> half_[2]{{0}, {0}};
};

inline constexpr int kNoOrdinal = -1;

// Identifies the GPU to the agent.
struct GpuIdentity {
  int ordinal;  // kNoOrdinal: the process does not use the GPU, and only holds best-effort work there (high/job.h)
  Uuid uuid;
  char name[64];
  std::uint32_t sm_count;

  [[nodiscard]] bool holds_only() const noexcept { return ordinal == kNoOrdinal; }
};

// The message in which this process says to the agent who it is.
[[nodiscard]] protocol::Hello hello_for(const GpuIdentity& gpu, protocol::HelloKind kind) noexcept;

// Maps a file of the agent over a mapping that other threads may use meanwhile. False, unless it has that size for ever: a file
// that shrinks while it is mapped would raise SIGBUS.
[[nodiscard]] bool map_file(void* at, std::size_t size, int fd, int rights) noexcept;

// kLater: the agent has no slot for a best-effort client now, for a reason that passes.
// kBusy: an agent listens, and has not answered in time.
enum class AttachOutcome { kAttached, kNoAgent, kBusy, kRefused, kLater };

struct Attachment {
  AttachOutcome outcome;
  Link* link;  // kAttached
  // kRefused, kLater: the agent's message. kNoAgent, kBusy: empty, or what is wrong with the agent that listens.
  char reason[200];
};

// Asks the agent for the variants of a kernel, made from the PTX that the kernel was loaded from. Blocks until the agent
// has answered.
struct VariantAnswer {
  char* text;  // PTX, to be freed; null: there is none
  bool whole_warps;  // right only for blocks whose x size is a multiple of 32
  char reason[200];  // why there is none; empty when no agent answers
};
[[nodiscard]] VariantAnswer ask_for_variant(const GpuIdentity& gpu, const char* kernel, const void* image,
                                            std::size_t size) noexcept;

// Connects, says hello, maps the memory. Bounded: half a second for each step. No driver call.
[[nodiscard]] Attachment attach(const GpuIdentity& gpu) noexcept;

// The same in steps, for the helper thread. With a `former` link, whose agent has exited, the client asks for the slot that
// it already has. False: no agent listens, or it is `busy`.
[[nodiscard]] bool knock_for(Knock& own, const GpuIdentity& gpu, const Link* former,
                             int patience_ms = kPatientMs) noexcept;
// Evaluates the Welcome.
[[nodiscard]] Attachment attached_by(Knock& answered) noexcept;
// False: the slot is lost. True: the link is connected again.
[[nodiscard]] bool reattached_by(Knock& answered, Link& link) noexcept;

// Maps the control pages that the agent has sent since, for a high client. True: some came, and the client confirms
// them.
[[nodiscard]] bool map_new_holds(Link& link) noexcept;
void confirm_holds(const Link& link) noexcept;

// Whether the program has closed a descriptor of this link. Then no agent can give it its slot back. For the helper
// thread, which replaces some of them.
[[nodiscard]] bool lost_descriptors(const Link& link) noexcept;
// Whether it has closed one of those that pages are mapped from. For any thread: they are as old as the link.
[[nodiscard]] bool lost_parts(const Link& link) noexcept;

// Whether the connection is closed, by the agent or by the program.
[[nodiscard]] bool hung_up(const Link& link) noexcept;

// The client leaves the agent, which gives its slot to others.
void hang_up(Link& link) noexcept;

// In a forked child: closes the parent's descriptors. The mapping stays, but is no longer read.
void drop_in_child(const Link& link) noexcept;

// Memory of its own in which everything is paused, so that a best-effort client without an agent runs at the rate of minimum progress.
[[nodiscard]] Link* private_link() noexcept;

}  // namespace cotenant
