#include "interposer/best_effort/chunk_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "generated/rules.h"
#include "interposer/base/clock.h"
#include "interposer/base/own_descriptor.h"
#include "interposer/base/table.h"
#include "interposer/base/thread.h"
#include "interposer/kernels/function.h"
#include "interposer/process/process.h"
#include "interposer/state/capture.h"

namespace cotenant::chunk_log {
namespace {

constexpr std::uint32_t kMaxRecords = 4 << 20;  // records; the file is sparse, so only written records take space
constexpr std::uint32_t kFunctions = 1 << 13;  // functions whose names are noted; a power of two
constexpr std::uint64_t kBlindNs = 10'000;
constexpr std::uint32_t kWatched = 64;       // streams

struct Function {
  std::atomic<std::uint64_t> key{0};
};
__constinit Table<Function, kFunctions> named;
OwnDescriptor names;

Record* next() noexcept {
  Header* header = log.load(std::memory_order_acquire);
  if (!header) return nullptr;
  const std::uint64_t index = header->used.fetch_add(1, std::memory_order_relaxed);
  if (index >= header->most) return nullptr;
  return reinterpret_cast<Record*>(header) + 1 + index;
}

void add(const Record& record) noexcept {
  if (Record* room = next()) *room = record;
}

void note_name(cu::CUfunction function) noexcept {
  const auto key = reinterpret_cast<std::uint64_t>(function);
  if (!named.find_or_add(key).added) return;
  const BesideCaptures beside;
  char line[512];
  const char* name = named_function(function).name;
  const int length =
      std::snprintf(line, sizeof line, "%llx %.480s\n", static_cast<unsigned long long>(key), name ? name : "?");
  if (length > 0 && write(names.number(), line, static_cast<std::size_t>(length)) < 0)
    return;  // the function stays without a name
}

// Records what has changed in shared memory since the last poll.
class Watch {
 public:
  explicit Watch(Gpu& gpu) noexcept : gpu_(gpu) {}

  void look() noexcept {
    const Link* link = gpu_.link.load(std::memory_order_acquire);
    if (!link) return;
    const protocol::Region& region = *link->region;
    const std::uint64_t now = now_ns();
    if (looked_ && now - looked_ > kBlindNs) add({What::kBlind, 0, 0, now, looked_, 0, 0, {}, {}, {}});
    looked_ = now;
    word(hold_, link->hold().load(std::memory_order_acquire), What::kHold);
    const protocol::HoldPage& page = link->hold_page();
    const std::uint64_t active = page.active.load(std::memory_order_acquire);
    word(active_, static_cast<std::uint32_t>(active | active >> 32), What::kActive);
    for (std::uint32_t i = 0; i < protocol::MAX_HIGH; ++i)
      burst(i, active >> i & 1 ? page.high[i].burstSince.load(std::memory_order_acquire) : 0, region);
    const std::uint32_t streams = std::min(stream_count(), kWatched);
    for (std::uint32_t i = 0; i < streams; ++i) {
      const std::uint32_t number = link->best_effort().done[i].load(std::memory_order_acquire);
      if (number == marks_[i]) continue;
      marks_[i] = number;
      add({What::kMark, 0, i, now_ns(), 0, number, 0, {}, {}, {}});
    }
  }

 private:
  void word(std::uint32_t& last, std::uint32_t now, What what) noexcept {
    if (now == last) return;
    last = now;
    add({what, 0, 0, now_ns(), 0, now, 0, {}, {}, {}});
  }
  void burst(std::uint32_t slot, std::uint64_t since, const protocol::Region& region) noexcept {
    if (since == bursts_[slot]) return;
    const std::uint64_t at = now_ns();
    const std::uint32_t chunk_ns = rule::chunk_us(region.settings) * 1000;
    const auto client = static_cast<std::uint16_t>(slot);
    // One burst may have ended and the next one begun between two polls.
    if (bursts_[slot]) add({What::kBurst, client, 0, at, bursts_[slot], 0, chunk_ns, {}, {}, {}});
    if (since) add({What::kBurst, client, 0, at, since, 1, chunk_ns, {}, {}, {}});
    bursts_[slot] = since;
  }

  Gpu& gpu_;
  std::uint64_t looked_{0};
  std::uint32_t hold_{0};
  std::uint32_t active_{0};
  std::uint64_t bursts_[protocol::MAX_HIGH]{};
  std::uint32_t marks_[kWatched]{};
};

Gpu* watched;

void* watch(void*) {
  for (Watch seen(*watched);;) {
    seen.look();
    relax();
  }
}

}  // namespace

std::atomic<Header*> log{nullptr};

void start(Gpu& gpu) noexcept {
  const char* path = environment().chunks;
  if (path[0] == '\0' || is_on()) return;
  char name[sizeof environment().chunks + 32];
  std::snprintf(name, sizeof name, "%s.%d.names", path, static_cast<int>(getpid()));
  names = OwnDescriptor(open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  *std::strrchr(name, '.') = '\0';
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::size_t bytes = sizeof(Record) * (std::size_t{kMaxRecords} + 1);
  void* room = MAP_FAILED;
  if (file >= 0 && names.is_set() && ftruncate(file, static_cast<off_t>(bytes)) == 0)
    room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (room == MAP_FAILED) return tell("COTENANT_CHUNKS: \"%s\" can't be written.", name);
  auto* header = static_cast<Header*>(room);
  std::memcpy(header->magic, "COTCHUNK", sizeof header->magic);
  header->record_bytes = sizeof(Record);
  header->most = kMaxRecords;
  log.store(header, std::memory_order_release);
  watched = &gpu;
  if (!start_thread(watch)) tell("COTENANT_CHUNKS: no thread to watch with.");
}

void forget() noexcept { log.store(nullptr, std::memory_order_relaxed); }

void note_launch(const Stream& stream, const Submission& submission, std::uint64_t expected_ns) noexcept {
  Record record{What::kLaunch,
                0,
                stream.index,
                now_ns(),
                0,
                static_cast<std::uint32_t>(submission.kind),
                static_cast<std::uint32_t>(std::min<std::uint64_t>(expected_ns, ~0u)),
                {},
                {},
                {}};
  if (submission.shape) {
    record.key = reinterpret_cast<std::uint64_t>(submission.shape->function);
    std::memcpy(record.grid, submission.shape->of, sizeof record.grid);
    std::memcpy(record.block, submission.shape->of + 3, sizeof record.block);
    if (submission.kind == Submission::Kind::kKernel) note_name(submission.shape->function);
  } else if (submission.estimate) {
    record.key = reinterpret_cast<std::uint64_t>(submission.estimate);
  }
  add(record);
}

void note(const Stream& stream, What what, std::uint32_t number, std::uint64_t key) noexcept {
  add({what, 0, stream.index, now_ns(), key, number, 0, {}, {}, {}});
}

}  // namespace cotenant::chunk_log
