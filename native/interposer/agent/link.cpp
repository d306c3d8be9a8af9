#include "interposer/agent/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "generated/rules.h"
#include "interposer/base/liveness.h"
#include "interposer/kernels/kernel_table.h"
#include "libc/file_status.h"

namespace cotenant {
namespace {

using protocol::Hello;
using protocol::HelloKind;
using protocol::Region;
using protocol::Welcome;
using protocol::WelcomeStatus;

constexpr int kVariantMs = 60'000;

bool put(Region* region, const void* place, std::size_t size, int fd, int rights) noexcept {
  char* const at =
      reinterpret_cast<char*>(region) + (static_cast<const char*>(place) - reinterpret_cast<char*>(region));
  return map_file(at, size, fd, rights);
}

// The places in Region.
constexpr std::size_t kCommonBytes = offsetof(Region, holds);

bool put_common(Region* region, int fd) noexcept { return put(region, region, kCommonBytes, fd, PROT_READ); }

bool put_slot(Region* region, bool high, std::uint32_t slot, int fd) noexcept {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  return high ? put(region, &region->high[slot], sizeof(protocol::HighSlot), fd, kRights)
              : put(region, &region->bestEffort[slot], sizeof(protocol::BestEffortSlot), fd, kRights);
}

bool put_hold(Region* region, std::uint32_t slot, int fd) noexcept {
  return slot < protocol::MAX_BEST_EFFORT &&
         put(region, &region->holds[slot], sizeof(protocol::HoldPage), fd, PROT_READ | PROT_WRITE);
}

// The common file and a slot come first, then the control pages of the Welcome.
constexpr std::size_t kFirstHold = 2;

bool put_holds(Region* region, const Knock& answered) noexcept {
  std::size_t number = kFirstHold;
  for (std::uint32_t left = answered.welcome.holds; left != 0; left &= left - 1, ++number)
    if (number >= answered.came_count ||
        !put_hold(region, static_cast<std::uint32_t>(__builtin_ctz(left)), answered.came[number].number()))
      return false;
  return true;
}

// Null, unless what the agent sent is a whole region of this version.
Region* map_region(const Knock& answered, bool high, std::uint32_t slot) noexcept {
  if (answered.came_count < kFirstHold) return nullptr;
  void* at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* region = static_cast<Region*>(at);
  const auto& header = region->header;
  const auto is_ours = [&] {
    return header.magic == protocol::MAGIC && header.version == protocol::VERSION && header.size == sizeof(Region);
  };
  if (put_common(region, answered.came[0].number()) && is_ours() &&
      put_slot(region, high, slot, answered.came[1].number()) && put_holds(region, answered))
    return region;
  munmap(at, sizeof(Region));
  return nullptr;
}

Link* make_link(Region* region, std::uint32_t slot) noexcept {
  void* memory = std::malloc(sizeof(Link));
  return memory ? new (memory) Link{region, slot, {}, {}, {}, {}, true} : nullptr;
}

bool is_high() noexcept { return environment().client_class == protocol::Class::kHigh; }

// A memory file with the request; none if it cannot be created.
OwnDescriptor request_file(const char* kernel, const void* image, std::size_t size) noexcept {
  const protocol::VariantRequest request{static_cast<std::uint32_t>(std::strlen(kernel)), 0, size};
  OwnDescriptor file(memfd_create("cotenant-variant", MFD_CLOEXEC));
  const auto put = [&](const void* from, std::size_t bytes) {
    return write(file.number(), from, bytes) == static_cast<ssize_t>(bytes);
  };
  if (!put(&request, sizeof request) || !put(kernel, request.nameBytes) || !put(image, size)) file.close();
  return file;
}

// Copies a memory file that the agent sent into a string.
char* text_of(int fd) noexcept {
  struct stat info{};
  const std::size_t size = file_status(fd, &info) && info.st_size > 0 ? static_cast<std::size_t>(info.st_size) : 0;
  char* text = size ? static_cast<char*>(std::malloc(size + 1)) : nullptr;
  std::size_t have = 0;
  while (text && have < size) {
    const ssize_t n = pread(fd, text + have, size - have, static_cast<off_t>(have));
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (text) text[have] = '\0';
  return text;
}

// The first two fields of a Welcome have the same place in every version.
Attachment no_agent(const Knock& failed) noexcept {
  Attachment result{failed.busy ? AttachOutcome::kBusy : AttachOutcome::kNoAgent, nullptr, {}};
  const Welcome& welcome = failed.welcome;
  if (failed.busy)
    std::snprintf(result.reason, sizeof result.reason,
                  "is busy: it has not answered within %d ms. This program asks on and attaches when the agent "
                  "answers; if that takes long, free CPU time for the agent",
                  kKnockMs);
  else if (welcome.magic == protocol::MESSAGE_MAGIC && welcome.version != protocol::VERSION)
    std::snprintf(result.reason, sizeof result.reason,
                  "speaks version %u of the protocol, this library version %u. %s with the newer Cotenant",
                  welcome.version, protocol::VERSION,
                  welcome.version < protocol::VERSION ? "The agent is older: restart it"
                                                      : "This program is older: start it again");
  return result;
}

}  // namespace

Hello hello_for(const GpuIdentity& gpu, HelloKind kind) noexcept {
  const Environment& env = environment();
  Hello hello{};
  hello.magic = protocol::MESSAGE_MAGIC;
  hello.version = protocol::VERSION;
  hello.revision = protocol::REVISION;
  hello.kind = static_cast<std::uint32_t>(kind);
  hello.class_ = static_cast<std::uint32_t>(env.client_class);
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.startTime = start_time_of(getpid());
  hello.slot = -1;
  hello.gpuIndex = gpu.ordinal;
  hello.memoryQuota = env.memory_quota;
  for (std::size_t i = 0; i < std::size(kSloParts); ++i) hello.*kSloParts[i].field = env.slo_parts[i];
  std::memcpy(hello.sloMetrics, env.slo_metrics, sizeof hello.sloMetrics);
  std::memcpy(hello.slo, env.slo, sizeof hello.slo);
  gpu.uuid.write(hello.gpuUuid);
  hello.holdsOnly = gpu.holds_only() ? 1 : 0;
  std::memcpy(hello.name, env.name, sizeof hello.name);
  std::memcpy(hello.gpuName, gpu.name, sizeof hello.gpuName);
  hello.smCount = gpu.sm_count;
  if (const protocol::KernelTable* profile = kernel_table()) {
    hello.soloUs = profile->soloUs;
    hello.gpuSharePermille = profile->gpuSharePermille;
    hello.training = profile->training;
  }
  return hello;
}

// The kernel replaces the mapping in one step, so other threads see the old page or the new one. ThreadSanitizer takes a call of
// mmap() for a write that races with them, hence the system call.
bool map_file(void* at, std::size_t size, int fd, int rights) noexcept {
  struct stat info{};
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || !file_status(fd, &info)) return false;
  if (info.st_size != static_cast<off_t>(size)) return false;
  return reinterpret_cast<void*>(
             syscall(SYS_mmap, at, size, long{rights}, long{MAP_SHARED | MAP_FIXED}, long{fd}, 0L)) == at;
}

VariantAnswer ask_for_variant(const GpuIdentity& gpu, const char* kernel, const void* image,
                              std::size_t size) noexcept {
  VariantAnswer answer{nullptr, false, {}};
  OwnDescriptor file = request_file(kernel, image, size);
  Knock asking;
  const Descriptors passed{{file.number()}, 1};
  if (file.is_set() && knock(asking, hello_for(gpu, HelloKind::kVariant), Door::kWait, passed, kVariantMs) &&
      hear_within(asking) == Heard::kWelcome) {
    const Welcome& welcome = asking.welcome;
    std::memcpy(answer.reason, welcome.reason, sizeof answer.reason);
    answer.reason[sizeof answer.reason - 1] = '\0';
    answer.whole_warps = welcome.slot == 1;
    if (welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kOk))
      answer.text = asking.came_count > 0 ? text_of(asking.came[0].number()) : nullptr;
  }
  forget(asking);
  file.close();
  return answer;
}

Attachment attach(const GpuIdentity& gpu) noexcept {
  Knock asking;
  if (!knock(asking, hello_for(gpu, HelloKind::kAttach), Door::kWait)) return no_agent(asking);
  return hear_within(asking) == Heard::kWelcome ? attached_by(asking) : no_agent(asking);
}

Attachment attached_by(Knock& answered) noexcept {
  const Welcome& welcome = answered.welcome;
  const bool high = is_high();
  const bool passes = welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kLater) ||
                      welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kFull);
  // A high client does not wait: it runs unprotected, and its helper thread asks again.
  Attachment result{passes && !high ? AttachOutcome::kLater : AttachOutcome::kRefused, nullptr, {}};
  std::memcpy(result.reason, welcome.reason, sizeof result.reason);
  result.reason[sizeof result.reason - 1] = '\0';
  const auto slots = static_cast<std::int32_t>(high ? protocol::MAX_HIGH : protocol::MAX_BEST_EFFORT);
  if (welcome.status != static_cast<std::uint32_t>(WelcomeStatus::kOk) || welcome.slot < 0 || welcome.slot >= slots) {
    forget(answered);
    return result;
  }
  const auto slot = static_cast<std::uint32_t>(welcome.slot);
  Region* region = map_region(answered, high, slot);
  Link* link = region ? make_link(region, slot) : nullptr;
  if (!link) {
    forget(answered);
    std::snprintf(result.reason, sizeof result.reason,
                  "the agent's shared memory cannot be used: another version, or another user's.");
    return result;
  }
  link->memory_quota = welcome.memoryQuota;
  link->common = take_descriptor(answered, 0);
  link->slot_part.file = take_descriptor(answered, 1);
  if (!high) link->hold_part.file = take_descriptor(answered, kFirstHold);
  link->holds_version = welcome.holdsVersion;
  if (high) confirm_holds(*link);
  link->socket = take_socket(answered);
  forget(answered);
  return {AttachOutcome::kAttached, link, {}};
}

bool knock_for(Knock& own, const GpuIdentity& gpu, const Link* former, int patience_ms) noexcept {
  Hello hello = hello_for(gpu, former ? HelloKind::kReattach : HelloKind::kAttach);
  Descriptors passed{};
  if (former) {
    hello.slot = static_cast<std::int32_t>(former->slot);
    for (const OwnDescriptor& file : {former->slot_part.file, former->hold_part.file})
      if (file.is_set()) passed.fds[passed.count++] = file.number();
  }
  return knock(own, hello, Door::kNow, passed, patience_ms);
}

bool reattached_by(Knock& answered, Link& link) noexcept {
  const bool ok = answered.welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kOk);
  // The slot that came is the one that is mapped. So is a best-effort client's control page.
  if (!ok || answered.came_count < kFirstHold || !put_common(link.region, answered.came[0].number()) ||
      (is_high() && !put_holds(link.region, answered))) {
    forget(answered);
    return false;
  }
  link.socket.close();
  link.socket = take_socket(answered);
  link.common.close();
  link.common = take_descriptor(answered, 0);
  link.holds_version = answered.welcome.holdsVersion;
  forget(answered);
  return true;
}

bool map_new_holds(Link& link) noexcept {
  const std::uint32_t version = link.region->roster.holdsVersion.load(std::memory_order_acquire);
  if (version == link.holds_version) return false;
  const int socket = link.socket.number();
  if (socket < 0) return false;
  for (;;) {
    protocol::NewHold message{};
    Descriptors came;
    const ssize_t n = receive_with_descriptors(socket, &message, sizeof message, came, MSG_DONTWAIT);
    const bool whole = n == static_cast<ssize_t>(sizeof message) && message.magic == protocol::MESSAGE_MAGIC;
    if (whole && (came.count != 1 || !put_hold(link.region, message.slot, came.fds[0])))
      tell(
          "the control page of a best-effort client that has come cannot be mapped: it is not held back for this "
          "client.");
    close_all(came);
    if (!whole) break;
  }
  link.holds_version = version;
  return true;
}

void confirm_holds(const Link& link) noexcept {
  link.high().holdsVersion.store(link.holds_version, std::memory_order_release);
}

bool lost_parts(const Link& link) noexcept { return link.slot_part.file.is_lost() || link.hold_part.file.is_lost(); }

bool lost_descriptors(const Link& link) noexcept {
  return lost_parts(link) || link.socket.is_lost() || link.common.is_lost();
}

bool hung_up(const Link& link) noexcept {
  const int socket = link.socket.number();
  if (socket < 0) return true;
  pollfd waiting{socket, POLLRDHUP, 0};
  return poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

void hang_up(Link& link) noexcept { link.socket.close(); }

void drop_in_child(const Link& link) noexcept {
  for (OwnDescriptor own : {link.socket, link.common, link.slot_part.file, link.hold_part.file}) own.close();
}

Link* private_link() noexcept {
  // A file, so that its pages can be mapped once more for each context.
  const int fd = out_of_the_way(memfd_create("cotenant-private", MFD_CLOEXEC));
  const OwnDescriptor file(fd);
  const bool sized = file.is_set() && ftruncate(fd, sizeof(Region)) == 0;
  const int flags = sized ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
  void* at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, flags, sized ? fd : -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* region = static_cast<Region*>(at);
  auto& rules = region->settings;
  protocol::set_strict_rules(rules);
  // The high clients are unknown, so best-effort work runs at the rate of minimum progress from the start.
  rules.paused = 1;
  rules.progressAfterUs = 1000;
  // No other client is in this region to take turns with, and there is no agent to make variants of kernels.
  rules.isolated = 0;
  rules.preemptUs = 0;
  region->roster.registered = 1;
  region->holds[0].word = 1;
  Link* link = make_link(region, 0);
  if (!link) return nullptr;
  link->attached = false;
  if (!sized) return link;
  link->slot_part = {file, offsetof(Region, bestEffort)};
  link->hold_part = {file, offsetof(Region, holds)};
  return link;
}

}  // namespace cotenant
