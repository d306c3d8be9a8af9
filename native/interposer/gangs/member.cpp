#include "interposer/gangs/member.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "gate/hold_page.h"
#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/base/thread.h"
#include "interposer/gangs/decider.h"
#include "interposer/kernels/ranks.h"
#include "interposer/process/process.h"
#include "interposer/state/gpu.h"

namespace cotenant::gangs {

namespace {

constexpr std::uint64_t kTimeoutNs = 10'000'000'000;
constexpr std::uint64_t kLivesEveryNs = 20'000'000;
constexpr std::uint32_t kRoundUs = 20;
constexpr std::uint32_t kIdleMs = 20;
// A rank may prepare data for long, and the others wait. They look less often then.
constexpr std::uint64_t kLongWaitNs = 50'000'000;
constexpr std::uint32_t kLongRoundUs = 200;

std::atomic<bool> nccl_seen{false};
pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;
std::atomic<Block*> joined{nullptr};
OwnDescriptor file;
const char* refused = nullptr;  // guarded by `joining`

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) noexcept {
  syscall(SYS_futex, &word, operation, value, time, nullptr, 0);
}

// For tests: other times are too long for them.
std::uint64_t timeout_ns() noexcept {
  const char* ms = std::getenv("COTENANT_COMMIT_TIMEOUT_MS");
  const std::uint64_t given = ms ? std::strtoull(ms, nullptr, 10) * 1'000'000 : 0;
  return given ? given : kTimeoutNs;
}

// Where the decider finds this rank's control page.
void publish_page(Rank& own, const Link* link) noexcept {
  own.page_version.fetch_add(1);
  own.page_file.store(link ? link->hold_part.file.number() : -1);
  own.page_offset.store(link ? link->hold_part.offset : 0);
  own.page_version.fetch_add(1);
}

// The control page of another rank, mapped from that process: the ranks are processes of one user.
class PageOfRank {
 public:
  // Null: it can't be mapped now.
  const protocol::HoldPage* page(const Rank& rank) noexcept {
    const std::uint32_t version = rank.page_version.load();
    if (version == version_) return page_;
    if (version % 2 != 0 || version == 0) return nullptr;
    const void* mapped = map(rank);
    if (rank.page_version.load() != version) return nullptr;
    page_ = static_cast<const protocol::HoldPage*>(mapped);
    version_ = version;
    return page_;
  }

 private:
  static const void* map(const Rank& rank) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%u/fd/%d", rank.pid.load(), rank.page_file.load());
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info{};
    const std::uint64_t offset = rank.page_offset.load();
    const bool fits = fd >= 0 && file_status(fd, &info) && S_ISREG(info.st_mode) && offset % kPage == 0 &&
                      static_cast<std::uint64_t>(info.st_size) >= offset + sizeof(protocol::HoldPage);
    void* at = fits ? mmap(nullptr, sizeof(protocol::HoldPage), PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset))
                    : MAP_FAILED;
    if (fd >= 0) close(fd);
    return at == MAP_FAILED ? nullptr : at;
  }

  std::uint32_t version_{0};
  const protocol::HoldPage* page_{nullptr};
};

struct Work {
  Decider decider;
  PageOfRank pages[kRanks];
  Surroundings now{};
  std::uint64_t lives_seen_ns{0};
  std::uint64_t waits_since_ns{0};
  const Link* published{nullptr};
};

std::uint64_t progress_ns() noexcept {
  const Link* link = own_link();
  constexpr std::uint64_t kUnknownNs = 100'000'000;
  if (!link) return kUnknownNs;
  const Rules rules = read_rules(link->region->settings);
  const std::uint64_t us = std::max<std::uint64_t>(rules.progress_after_us, rules.progress_every_us);
  return us > 0 ? us * 1000 : kUnknownNs;
}

void look_around(Block& block, Work& work) noexcept {
  Surroundings& now = work.now;
  now.now_ns = now_ns();
  if (now.now_ns - work.lives_seen_ns >= kLivesEveryNs) {
    work.lives_seen_ns = now.now_ns;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) now.lives[rank] = lives(block.rank[rank]);
    now.progress_ns = progress_ns();
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    if (!now.lives[rank]) continue;
    const protocol::HoldPage* page = work.pages[rank].page(block.rank[rank]);
    // Nothing is known of a rank without a page: it counts as paused.
    now.paused[rank] = !page || is_paused(*page);
  }
}

// For `cotenant status`. Parts of the commits are never counted after them.
void publish_counts(const Rank& own, const Link* link) noexcept {
  if (!link) return;
  auto& slot = link->best_effort();
  slot.gangRanks.store(environment().gang.ranks, std::memory_order_relaxed);
  const std::uint64_t committed = own.committed.load(std::memory_order_acquire);
  slot.commitTimeouts.store(own.timed_out.load(std::memory_order_relaxed), std::memory_order_relaxed);
  slot.commitProgress.store(own.min_progress.load(std::memory_order_relaxed), std::memory_order_relaxed);
  slot.commits.store(committed, std::memory_order_release);
}

// Whether an operation of this rank that was let go has not ended: nothing before it is paused, because its members spin.
bool has_let_go(const Rank& own) noexcept {
  for (std::uint32_t place = 0; place < kOperations; ++place) {
    const std::uint32_t ticket = own.operations[place].let_go.load(std::memory_order_acquire);
    if (ticket == 0) continue;
    const std::uint32_t streams = own.operations[place].streams.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < streams && i < kStreams; ++i)
      if (static_cast<std::int32_t>(own.progress.done[place][i].load(std::memory_order_acquire) - ticket) < 0)
        return true;
  }
  return false;
}

// Returns how long to nap, in us; 0: the thread has slept already.
std::uint32_t decide(Block& block, Work& work) noexcept {
  const std::uint32_t launches = block.launches.load();
  look_around(block, work);
  if (work.decider.decide(block, work.now)) {
    if (work.waits_since_ns == 0) work.waits_since_ns = work.now.now_ns;
    return work.now.now_ns - work.waits_since_ns < kLongWaitNs ? kRoundUs : kLongRoundUs;
  }
  work.waits_since_ns = 0;
  block.sleeps.store(1);
  const timespec idle{0, kIdleMs * 1'000'000l};
  futex(block.launches, FUTEX_WAIT, launches, &idle);
  block.sleeps.store(0);
  return 0;
}

// The first rank that has come decides. If it dies, another one goes on.
bool is_decider(Block& block, std::uint32_t own) noexcept {
  std::uint32_t decider = block.decider.load();
  if (decider == own + 1) return true;
  if (decider != 0 && decider <= kRanks && lives(block.rank[decider - 1])) return false;
  return block.decider.compare_exchange_strong(decider, own + 1);
}

void* run(void*) {
  prctl(PR_SET_TIMERSLACK, 1'000ul);
  Block& block = *joined.load();
  alignas(Work) static char memory[sizeof(Work)];  // too large for the stack
  Work& work = *new (memory) Work;
  work.now.timeout_ns = timeout_ns();
  Rank& own = own_rank(block);
  bool decides = false;
  for (;;) {
    const Link* link = own_link();
    if (link != work.published) publish_page(own, work.published = link);
    publish_counts(own, link);
    if (Gpu* gpu = own_gpu.load(std::memory_order_acquire))
      gpu->best_effort.heeds_no_pause.store(has_let_go(own), std::memory_order_relaxed);
    decides = decides || is_decider(block, environment().gang.rank);
    const std::uint32_t nap = decides ? decide(block, work) : kIdleMs * 1000;
    if (nap != 0) nap_us(nap);
  }
}

}  // namespace

void note_nccl_is_seen() noexcept { nccl_seen.store(true); }
bool nccl_is_seen() noexcept { return nccl_seen.load(std::memory_order_relaxed); }

const char* why_no_member() noexcept {
  const Gang& gang = environment().gang;
  if (gang.why_not) return gang.why_not;
  if (!nccl_is_seen()) return "libcotenant-nccl.so is not loaded, so its calls of NCCL are not seen";
  const NotCancelled whole;
  pthread_mutex_lock(&joining);
  const char* why = refused;
  if (!why && !joined.load()) {
    const Joined fresh = join(gang);
    file = fresh.file;
    joined.store(fresh.block);
    if (!fresh.block) refused = fresh.why;
    else if (!start_thread(run)) refused = "a thread for it can't be started";
    why = refused;
  }
  pthread_mutex_unlock(&joining);
  return why;
}

Block* gang_block() noexcept { return joined.load(std::memory_order_acquire); }
Rank& own_rank(Block& block) noexcept { return block.rank[environment().gang.rank]; }
int block_file() noexcept { return file.number(); }

void wake_decider(Block& block) noexcept {
  block.launches.fetch_add(1);
  if (block.sleeps.load() != 0) futex(block.launches, FUTEX_WAKE, 1, nullptr);
}

void forget_member() noexcept {
  pthread_mutex_init(&joining, nullptr);
  joined.store(nullptr);
  refused = nullptr;
  file.close();
  in_gang_operation = false;
}

}  // namespace cotenant::gangs
