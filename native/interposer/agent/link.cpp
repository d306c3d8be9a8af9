#include "interposer/agent/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "generated/rules.h"
#include "interposer/base/file_status.h"
#include "interposer/base/liveness.h"
#include "interposer/kernels/kernel_table.h"

namespace cotenant {
namespace {

using protocol::Hello;
using protocol::HelloKind;
using protocol::Region;
using protocol::Welcome;
using protocol::WelcomeStatus;

constexpr int kVariantMs = 60'000;

Hello hello_for(const GpuIdentity& gpu, HelloKind kind) noexcept {
  const Environment& env = environment();
  Hello hello{};
  hello.magic = protocol::MESSAGE_MAGIC;
  hello.version = protocol::VERSION;
  hello.kind = static_cast<std::uint32_t>(kind);
  hello.class_ = static_cast<std::uint32_t>(env.client_class);
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.startTime = start_time_of(getpid());
  hello.slot = -1;
  hello.gpuIndex = gpu.ordinal;
  hello.memoryQuota = env.memory_quota;
  hello.sloP99Us = env.slo_p99_us;
  hello.sloSlowdownPermille = env.slo_slowdown_permille;
  std::memcpy(hello.gpuUuid, gpu.uuid, sizeof hello.gpuUuid);
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

// Maps what the agent sent. Null, unless it is a complete region of this version and sealed: a file that shrinks while it
// is mapped would raise SIGBUS.
Region* map_region(const Knock& answered) noexcept {
  if (!answered.came) return nullptr;
  const int fd = answered.descriptor;
  struct stat info{};
  const int seals = fcntl(fd, F_GET_SEALS);
  const bool whole = file_status(fd, &info) && info.st_size == static_cast<off_t>(sizeof(Region));
  if (whole && seals >= 0 && (seals & F_SEAL_SHRINK) != 0) {
    void* at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) {
      auto* region = static_cast<Region*>(at);
      const auto& header = region->header;
      if (header.magic == protocol::MAGIC && header.version == protocol::VERSION && header.size == sizeof(Region))
        return region;
      munmap(at, sizeof(Region));
    }
  }
  return nullptr;
}

Link* make_link(Region* region, std::uint32_t slot, int region_fd, int socket, bool attached) noexcept {
  void* memory = std::malloc(sizeof(Link));
  return memory ? new (memory) Link{region, slot, region_fd, socket, attached} : nullptr;
}

// A memory file with the request; -1 if it cannot be created.
int request_file(const char* kernel, const void* image, std::size_t size) noexcept {
  const protocol::VariantRequest request{static_cast<std::uint32_t>(std::strlen(kernel)), 0, size};
  const int fd = memfd_create("cotenant-variant", MFD_CLOEXEC);
  const auto put = [fd](const void* from, std::size_t bytes) {
    return write(fd, from, bytes) == static_cast<ssize_t>(bytes);
  };
  if (fd >= 0 && put(&request, sizeof request) && put(kernel, request.nameBytes) && put(image, size)) return fd;
  if (fd >= 0) close(fd);
  return -1;
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

Attachment no_agent() noexcept { return {AttachOutcome::kNoAgent, nullptr, {}}; }

// The first two fields have the same place in every version.
Attachment no_agent(const Welcome& welcome) noexcept {
  Attachment result = no_agent();
  if (welcome.magic == protocol::MESSAGE_MAGIC && welcome.version != protocol::VERSION)
    std::snprintf(result.reason, sizeof result.reason, "it speaks version %u of the protocol, this library version %u",
                  welcome.version, protocol::VERSION);
  return result;
}

}  // namespace

VariantAnswer ask_for_variant(const GpuIdentity& gpu, const char* kernel, const void* image,
                              std::size_t size) noexcept {
  VariantAnswer answer{nullptr, false, {}};
  const int file = request_file(kernel, image, size);
  Knock asking;
  if (file >= 0 && knock(asking, hello_for(gpu, HelloKind::kVariant), Door::kWait, file, kVariantMs) &&
      hear_within(asking) == Heard::kWelcome) {
    const Welcome& welcome = asking.welcome;
    std::memcpy(answer.reason, welcome.reason, sizeof answer.reason);
    answer.reason[sizeof answer.reason - 1] = '\0';
    answer.whole_warps = welcome.slot == 1;
    if (welcome.status == static_cast<std::uint32_t>(WelcomeStatus::kOk))
      answer.text = asking.came ? text_of(asking.descriptor) : nullptr;
  }
  forget(asking);
  if (file >= 0) close(file);
  return answer;
}

Attachment attach(const GpuIdentity& gpu) noexcept {
  Knock asking;
  if (!knock(asking, hello_for(gpu, HelloKind::kAttach), Door::kWait)) return no_agent();
  return hear_within(asking) == Heard::kWelcome ? attached_by(asking) : no_agent(asking.welcome);
}

Attachment attached_by(Knock& answered) noexcept {
  const Welcome& welcome = answered.welcome;
  Attachment result{AttachOutcome::kRefused, nullptr, {}};
  std::memcpy(result.reason, welcome.reason, sizeof result.reason);
  result.reason[sizeof result.reason - 1] = '\0';
  const bool high = environment().client_class == protocol::Class::kHigh;
  const auto slots = static_cast<std::int32_t>(high ? protocol::MAX_HIGH : protocol::MAX_BEST_EFFORT);
  if (welcome.status != static_cast<std::uint32_t>(WelcomeStatus::kOk) || welcome.slot < 0 || welcome.slot >= slots) {
    forget(answered);
    return result;
  }
  Region* region = map_region(answered);
  Link* link = region ? make_link(region, static_cast<std::uint32_t>(welcome.slot), -1, -1, true) : nullptr;
  if (!link) {
    forget(answered);
    std::snprintf(result.reason, sizeof result.reason,
                  "the agent's shared memory cannot be used: another version, or another user's.");
    return result;
  }
  link->memory_quota = welcome.memoryQuota;
  link->region_fd = take_descriptor(answered);
  link->socket = take_socket(answered);
  return {AttachOutcome::kAttached, link, {}};
}

bool knock_for(Knock& own, const GpuIdentity& gpu, const Link* former) noexcept {
  Hello hello = hello_for(gpu, former ? HelloKind::kReattach : HelloKind::kAttach);
  if (former) hello.slot = static_cast<std::int32_t>(former->slot);
  return knock(own, hello, Door::kNow, former ? former->region_fd : -1);
}

bool reattached_by(Knock& answered, Link& link) noexcept {
  if (answered.welcome.status != static_cast<std::uint32_t>(WelcomeStatus::kOk)) {
    forget(answered);
    return false;
  }
  if (link.socket >= 0) close(link.socket);
  link.socket = take_socket(answered);
  forget(answered);  // the region that came is the one that we have
  return true;
}

bool hung_up(const Link& link) noexcept {
  if (link.socket < 0) return true;
  pollfd waiting{link.socket, POLLRDHUP, 0};
  return poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
}

void drop_in_child(const Link& link) noexcept {
  if (link.socket >= 0) close(link.socket);
  if (link.region_fd >= 0) close(link.region_fd);
}

Link* private_link() noexcept {
  // A file, so that its pages can be mapped once more for each context.
  const int fd = out_of_the_way(memfd_create("cotenant-private", MFD_CLOEXEC));
  const bool sized = fd >= 0 && ftruncate(fd, sizeof(Region)) == 0;
  const int flags = sized ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
  void* at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, flags, sized ? fd : -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* region = static_cast<Region*>(at);
  auto& rules = region->settings;
  protocol::set_strict_rules(rules);
  // The high clients are unknown, so best-effort work runs at a trickle from the start.
  rules.paused = 1;
  rules.trickleAfterUs = 1000;
  // No other client is in this region to take turns with, and there is no agent to make variants of kernels.
  rules.isolated = 0;
  rules.preemptUs = 0;
  region->activity.registered = 1;
  region->holds.hold[0] = 1;
  return make_link(region, 0, sized ? fd : -1, -1, false);
}

}  // namespace cotenant
