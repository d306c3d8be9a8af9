#include "interposer/gangs/block.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "interposer/base/clock.h"
#include "interposer/base/liveness.h"

namespace cotenant::gangs {
namespace {

constexpr std::uint64_t kLockNs = 5'000'000'000;

bool lock(int file) noexcept {
  const std::uint64_t until = now_ns() + kLockNs;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (now_ns() > until || (errno != EWOULDBLOCK && errno != EINTR)) return false;
    nap_us(500);
  }
  return true;
}

// Whether the open file is still the one of that name, and nobody else's.
enum class State { kOurs, kGone, kForeign };
State state_of(int file, const char* path) noexcept {
  struct stat own{}, named{};
  if (!file_status(file, &own) || !S_ISREG(own.st_mode) || own.st_uid != geteuid() || (own.st_mode & 077) != 0)
    return State::kForeign;
  const bool same =
      file_status(path, &named, AT_SYMLINK_NOFOLLOW) && named.st_ino == own.st_ino && named.st_dev == own.st_dev;
  return same ? State::kOurs : State::kGone;
}

// A gang of the same name was here before, and has not ended in order.
bool is_left_behind(const Block& block, const Gang& gang) noexcept {
  if (block.joined.load() == 0) return false;
  if (block.ranks.load() != gang.ranks || block.rank[gang.rank].pid.load() != 0) return true;
  for (std::uint32_t rank = 0; rank < gang.ranks; ++rank)
    if (block.rank[rank].pid.load() != 0 && !lives(block.rank[rank])) return true;
  return false;
}

void take_place(Block& block, const Gang& gang) noexcept {
  Rank& own = block.rank[gang.rank];
  block.ranks.store(gang.ranks);
  block.pid_namespace.store(pid_namespace());
  own.started.store(start_time_of(getpid()));
  own.pid.store(static_cast<std::uint32_t>(getpid()));
}

enum class Try { kAgain, kDone };

Try try_to_join(const char* path, const Gang& gang, Joined& joined) noexcept {
  joined = {nullptr, {}, "the memory that its ranks share can't be opened"};
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return Try::kDone;
  const bool locked = lock(file);
  const State state = locked ? state_of(file, path) : State::kForeign;
  void* at = MAP_FAILED;
  if (state == State::kOurs && ftruncate(file, sizeof(Block)) == 0)
    at = mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    close(file);
    return state == State::kGone ? Try::kAgain : Try::kDone;
  }
  auto* block = static_cast<Block*>(at);
  const bool other_namespace = block->joined.load() != 0 && block->pid_namespace.load() != pid_namespace();
  if (other_namespace || is_left_behind(*block, gang)) {
    if (!other_namespace) unlink(path);
    else joined.why = "its ranks are in different PID namespaces";
    munmap(at, sizeof(Block));
    close(file);
    return other_namespace ? Try::kDone : Try::kAgain;
  }
  take_place(*block, gang);
  if (block->joined.fetch_add(1) + 1 == gang.ranks) unlink(path);
  flock(file, LOCK_UN);
  joined = {block, OwnDescriptor(file), nullptr};
  return Try::kDone;
}

}  // namespace

Joined join(const Gang& gang) noexcept {
  char path[96];
  std::snprintf(path, sizeof path, "/dev/shm/cotenant-gang-%u-%016llx", static_cast<unsigned>(geteuid()),
                static_cast<unsigned long long>(gang.name));
  Joined joined{};
  for (int tries = 0; tries < 100; ++tries)
    if (try_to_join(path, gang, joined) == Try::kDone) break;
  return joined;
}

bool lives(const Rank& rank) noexcept {
  return alive(static_cast<pid_t>(rank.pid.load(std::memory_order_acquire)),
               rank.started.load(std::memory_order_relaxed));
}

}  // namespace cotenant::gangs
