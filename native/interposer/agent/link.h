// The connection of this process to the agent of the machine, for one GPU: the shared region, a slot in
// it, and a socket whose hang-up tells the agent that the client has gone. A link never changes; when
// the agent hands out another region a new link takes its place and the old one stays mapped for ever,
// because some thread may still be looking at it.
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
  int region_fd;  // our own descriptor, from which a restarted agent finds the region again
  int socket;     // -1: lost
  bool attached;  // false: a private region, for a best-effort client without an agent
  Link* before{nullptr};  // the one that it took the place of,
  std::uint32_t before_pid{0};  // and the process in that one's slot then: us, as its agent saw us

  [[nodiscard]] protocol::HighSlot& high() const noexcept { return region->high[slot]; }
  [[nodiscard]] protocol::BestEffortSlot& best_effort() const noexcept { return region->bestEffort[slot]; }
  [[nodiscard]] std::atomic<std::uint32_t>& hold() const noexcept { return region->holds.hold[slot]; }
  [[nodiscard]] std::uint32_t bit() const noexcept { return 1u << slot; }
};

// Which GPU, as the agent needs to know it.
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
  // kRefused: the agent's own words. kNoAgent: empty, or what is wrong with the one that answers.
  char reason[200];
};

// Has the agent make a form of a kernel that can stop inside, from the PTX that it was loaded from. Takes as long as the
// agent does.
struct VariantAnswer {
  char* text;  // PTX, to be freed; null: there is none
  bool whole_warps;  // right only for blocks whose x size is a multiple of 32
  char reason[200];  // why there is none; empty when no agent answers
};
[[nodiscard]] VariantAnswer ask_for_variant(const GpuIdentity& gpu, const char* kernel, const void* image,
                                            std::size_t size) noexcept;

// Connects, says hello, maps the region. Bounded: half a second for each step. No driver call.
[[nodiscard]] Attachment attach(const GpuIdentity& gpu) noexcept;

// The same in steps, for the helper thread. With a `former` link, whose agent has gone, the slot and the region that we have
// are asked for again. False: no agent is there.
[[nodiscard]] bool knock_for(Knock& own, const GpuIdentity& gpu, const Link* former) noexcept;
// What the Welcome to it means.
[[nodiscard]] Attachment attached_by(Knock& answered) noexcept;
// False: the agent serves another region now. True: the link is connected again.
[[nodiscard]] bool reattached_by(Knock& answered, Link& link) noexcept;

// Whether the agent's end of the socket is closed.
[[nodiscard]] bool hung_up(const Link& link) noexcept;

// In a forked child: the parent's descriptors. Its mapping stays; nothing looks at it any more.
void drop_in_child(const Link& link) noexcept;

// A region of our own in which everything is paused: a best-effort client that sees no agent crawls.
[[nodiscard]] Link* private_link() noexcept;

}  // namespace cotenant
