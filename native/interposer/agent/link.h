// The connection of this process to the agent of the machine, for one GPU: the shared region, a slot in
// it, and a socket that closes when the client exits, which is how the agent learns of it. A link never changes:
// when the agent serves another region, a new link replaces it. The old link stays mapped for ever,
// because a thread may still read it.
#pragma once

#include <cstdint>

#include "driver/abi.h"
#include "generated/protocol.h"
#include "interposer/agent/knock.h"
#include "interposer/process/process.h"

namespace cotenant {

struct Link {
  protocol::Region* region;
  std::uint32_t slot;
  int region_fd;  // a descriptor through which a restarted agent finds the region again
  int socket;     // -1: lost
  bool attached;  // false: a private region, for a best-effort client without an agent
  std::uint64_t memory_quota{0};  // bytes that the agent allows; 0: no limit
  Link* before{nullptr};  // the link that this one replaced,
  std::uint32_t before_pid{0};  // and the process id in that link's slot: this process, as its agent saw it

  [[nodiscard]] protocol::HighSlot& high() const noexcept { return region->high[slot]; }
  [[nodiscard]] protocol::BestEffortSlot& best_effort() const noexcept { return region->bestEffort[slot]; }
  [[nodiscard]] std::atomic<std::uint32_t>& hold() const noexcept { return region->holds.hold[slot]; }
  [[nodiscard]] std::uint32_t bit() const noexcept { return 1u << slot; }
};

// Identifies the GPU to the agent.
struct GpuIdentity {
  int ordinal;
  unsigned char uuid[16];
  char name[64];
  std::uint32_t sm_count;
};

enum class AttachOutcome { kAttached, kNoAgent, kRefused };

struct Attachment {
  AttachOutcome outcome;
  Link* link;        // kAttached
  // kRefused: the agent's message. kNoAgent: empty, or what is wrong with the agent that answered.
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

// Connects, says hello, maps the region. Bounded: half a second for each step. No driver call.
[[nodiscard]] Attachment attach(const GpuIdentity& gpu) noexcept;

// The same in steps, for the helper thread. With a `former` link, whose agent has exited, the client asks for the slot and
// the region that it already has. False: no agent listens.
[[nodiscard]] bool knock_for(Knock& own, const GpuIdentity& gpu, const Link* former) noexcept;
// Evaluates the Welcome.
[[nodiscard]] Attachment attached_by(Knock& answered) noexcept;
// False: the agent serves another region now. True: the link is connected again.
[[nodiscard]] bool reattached_by(Knock& answered, Link& link) noexcept;

// Whether the agent's end of the socket is closed.
[[nodiscard]] bool hung_up(const Link& link) noexcept;

// In a forked child: closes the parent's descriptors. The mapping stays, but is no longer read.
void drop_in_child(const Link& link) noexcept;

// A private region in which everything is paused, so that a best-effort client without an agent runs at a trickle.
[[nodiscard]] Link* private_link() noexcept;

}  // namespace cotenant
