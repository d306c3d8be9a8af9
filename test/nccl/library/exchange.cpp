#include "exchange.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace nccl {
namespace {

constexpr std::size_t kHeaderBytes = 64 << 10;
static_assert(sizeof(Header) <= kHeaderBytes);
constexpr std::size_t kCollectiveBytes = 2 * kMaxRanks * kMaxBytes;
constexpr std::size_t kAllBytes = kHeaderBytes + kCollectiveBytes + 2 * kMaxRanks * kMaxRanks * kMaxBytes;

// The folder of the software GPU, as its settings.cpp finds it.
std::string folder() {
  if (const char* chosen = std::getenv("COTENANT_SOFTGPU_DIR")) return chosen;
  const char* base = std::getenv("XDG_RUNTIME_DIR");
  return std::string(base ? base : "/tmp") + "/cotenant-softgpu-" + std::to_string(getuid());
}

}  // namespace

std::string fresh_name() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return {};
  char text[32];
  std::snprintf(text, sizeof text, "nccl-%016llx", static_cast<unsigned long long>(number));
  return text;
}

void pause_a_little() {
  const timespec pause{0, 200'000};
  nanosleep(&pause, nullptr);
}

std::string Exchange::path() const { return folder() + "/" + name; }

std::shared_ptr<Exchange> Exchange::join(const std::string& name, unsigned ranks, unsigned rank) {
  std::shared_ptr<Exchange> made(new Exchange(name, ranks, rank));
  const int file = open(made->path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  const bool sized = ftruncate(file, off_t(kAllBytes)) == 0;
  void* pages =
      sized ? mmap(nullptr, kAllBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0) : MAP_FAILED;
  close(file);
  if (pages == MAP_FAILED) return nullptr;
  made->header_ = static_cast<Header*>(pages);
  if (made->header().joined.fetch_add(1) + 1 == ranks) unlink(made->path().c_str());
  return made;
}

Exchange::~Exchange() {
  if (header_ != nullptr) munmap(header_, kAllBytes);
}

void Exchange::wait_for_all() {
  while (header().joined.load() < ranks) pause_a_little();
}

unsigned char* Exchange::staged(unsigned from, std::uint64_t number) {
  return reinterpret_cast<unsigned char*>(header_) + kHeaderBytes + (number % 2 * kMaxRanks + from) * kMaxBytes;
}

unsigned char* Exchange::sent(unsigned from, unsigned to, std::uint64_t number) {
  return reinterpret_cast<unsigned char*>(header_) + kHeaderBytes + kCollectiveBytes +
         ((from * kMaxRanks + to) * 2 + number % 2) * kMaxBytes;
}

}  // namespace nccl
