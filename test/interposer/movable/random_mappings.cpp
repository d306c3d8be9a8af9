// Random legal calls of CUDA's virtual memory management, with parking in between, against a model of what the driver
// documents. The same calls without parking say whether the model is the driver's.
#include <array>
#include <map>
#include <memory>
#include <random>

#include "client.h"
#include "mappings.h"

using namespace harness;

namespace {

constexpr std::size_t kGrain = 2 * kMiB;
constexpr unsigned kSlots = 24;  // grains of the address range
constexpr std::size_t kProbe = 4096;  // bytes that are looked at, at both ends of a grain

struct Physical {
  CUmemGenericAllocationHandle handle;
  unsigned references = 1;
  unsigned mappings = 0;
  std::vector<unsigned> seeds;  // of each grain's content; 0: nothing was written
};

struct Mapping {
  std::shared_ptr<Physical> memory;
  unsigned grains;
  std::vector<std::array<unsigned, 2>> access;  // of each grain, for each GPU
};

class Model {
 public:
  explicit Model(unsigned seed) : random_(seed), range_(reserve(kSlots * kGrain)), before_(free_bytes()) {}

  void step() {
    switch (below(10)) {
      case 0:
      case 1: return create();
      case 2:
      case 3: return map();
      case 4: return unmap();
      case 5: return release();
      case 6: return retain();
      case 7: return set_access();
      default: return write_somewhere();
    }
  }

  // All that can be seen.
  void check() {
    expect(before_ - free_bytes() == live() * kGrain, "physical memory lives as long as it is held or mapped");
    for (auto& [slot, mapping] : mappings_)
      for (unsigned i = 0; i < mapping.grains; ++i) {
        const CUdeviceptr at = address(slot + i);
        for (int gpu = 0; gpu < 2; ++gpu)
          expect(access_of(at + below(kGrain), gpu) == mapping.access[i][gpu], "access is as it was set");
        if (mapping.access[i][0] != CU_MEM_ACCESS_FLAGS_PROT_NONE) expect_content(at, mapping.memory->seeds[i]);
      }
  }

  // Gives everything back, also memory that is not mapped.
  void end() {
    while (!mappings_.empty()) unmap();
    for (const auto& memory : all_) {
      if (memory->references == 0) continue;
      const std::size_t bytes = memory->seeds.size() * kGrain;
      OK(cuda().cuMemMap(range_, bytes, 0, memory->handle, 0));
      allow(range_, bytes);
      for (std::size_t i = 0; i < memory->seeds.size(); ++i) expect_content(range_ + i * kGrain, memory->seeds[i]);
      OK(cuda().cuMemUnmap(range_, bytes));
      for (; memory->references > 0; --memory->references) OK(cuda().cuMemRelease(memory->handle));
    }
    expect(free_bytes() == before_, "all of it is given back");
    OK(cuda().cuMemAddressFree(range_, kSlots * kGrain));
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  [[nodiscard]] std::size_t live() const {
    std::size_t grains = 0;
    for (const auto& memory : all_) grains += memory->references + memory->mappings > 0 ? memory->seeds.size() : 0;
    return grains;
  }

 private:
  [[nodiscard]] CUdeviceptr address(unsigned slot) const { return range_ + slot * kGrain; }

  void create() {
    if (live() > 16) return;
    auto made = std::make_shared<Physical>();
    made->seeds.resize(below(4) + 1);
    made->handle = make(made->seeds.size() * kGrain, below(2) ? exportable() : device_memory());
    for (const auto& other : all_)
      expect(other->references + other->mappings == 0 || other->handle != made->handle,
             "each handle is one of its own");
    all_.push_back(made);
  }

  std::shared_ptr<Physical> held() {
    std::vector<std::shared_ptr<Physical>> held;
    for (const auto& memory : all_)
      if (memory->references > 0) held.push_back(memory);
    return held.empty() ? nullptr : held[below(unsigned(held.size()))];
  }

  // The whole, or a part from the beginning: the driver takes no other offset yet.
  void map() {
    const auto memory = held();
    if (!memory) return;
    const unsigned grains = below(3) ? unsigned(memory->seeds.size()) : below(unsigned(memory->seeds.size())) + 1;
    const unsigned slot = below(kSlots - grains + 1);
    for (const auto& [other, mapping] : mappings_)
      if (other < slot + grains && slot < other + mapping.grains) return;
    OK(cuda().cuMemMap(address(slot), grains * kGrain, 0, memory->handle, 0));
    ++memory->mappings;
    mappings_[slot] = {memory, grains, std::vector<std::array<unsigned, 2>>(grains)};
  }

  // Mappings that lie beside each other: the first one, and the slot behind the last.
  std::pair<unsigned, unsigned> run() {
    auto at = std::next(mappings_.begin(), below(unsigned(mappings_.size())));
    const unsigned first = at->first;
    unsigned end = first;
    for (unsigned wanted = below(3) + 1; wanted > 0 && at != mappings_.end() && at->first == end; --wanted, ++at)
      end += at->second.grains;
    return {first, end};
  }

  void unmap() {
    if (mappings_.empty()) return;
    const auto [first, end] = run();
    OK(cuda().cuMemUnmap(address(first), (end - first) * kGrain));
    while (!mappings_.empty()) {
      const auto at = mappings_.lower_bound(first);
      if (at == mappings_.end() || at->first >= end) return;
      --at->second.memory->mappings;
      mappings_.erase(at);
    }
  }

  void release() {
    const auto memory = held();
    if (!memory) return;
    OK(cuda().cuMemRelease(memory->handle));
    --memory->references;
  }

  void retain() {
    if (mappings_.empty()) return;
    const auto& [slot, mapping] = *std::next(mappings_.begin(), below(unsigned(mappings_.size())));
    CUmemGenericAllocationHandle handle = 0;
    const CUdeviceptr inside = address(slot) + below(unsigned(mapping.grains * kGrain));
    OK(cuda().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(inside)));
    expect(handle == mapping.memory->handle, "a retained handle is the one that it was mapped by");
    ++mapping.memory->references;
  }

  void set_access() {
    if (mappings_.empty()) return;
    constexpr CUmemAccess_flags kFlags[] = {CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const auto [first, end] = run();
    CUmemAccessDesc wanted[2];
    const std::size_t count = below(2) + 1;
    const int gpu = int(below(2));
    for (std::size_t i = 0; i < count; ++i) wanted[i] = {{CU_MEM_LOCATION_TYPE_DEVICE, int(i) ^ gpu}, kFlags[below(4)]};
    OK(cuda().cuMemSetAccess(address(first), (end - first) * kGrain, wanted, count));
    for (auto& [slot, mapping] : mappings_)
      for (std::size_t i = 0; slot >= first && slot < end && i < count; ++i)
        for (auto& grain : mapping.access) grain[std::size_t(wanted[i].location.id)] = wanted[i].flags;
  }

  void write_somewhere() {
    if (mappings_.empty()) return;
    const auto& [slot, mapping] = *std::next(mappings_.begin(), below(unsigned(mappings_.size())));
    const unsigned i = below(mapping.grains);
    if (mapping.access[i][0] != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return;
    const unsigned seed = unsigned(random_()) | 1;
    mapping.memory->seeds[i] = seed;
    write(address(slot + i), pattern(kProbe, seed));
    write(address(slot + i + 1) - kProbe, pattern(kProbe, seed + 2));
    OK(cuda().cuCtxSynchronize());  // a copy from pageable memory may be under way, and no unmapping waits for it
  }

  void expect_content(CUdeviceptr at, unsigned seed) {
    if (seed == 0) return;
    expect(holds(at, pattern(kProbe, seed)) && holds(at + kGrain - kProbe, pattern(kProbe, seed + 2)),
           "each grain holds what was written last");
  }

  std::mt19937 random_;
  CUdeviceptr range_;
  std::size_t before_;
  std::vector<std::shared_ptr<Physical>> all_;
  std::map<unsigned, Mapping> mappings_;  // by slot
};

constexpr unsigned kSeeds = 6;
constexpr unsigned kRounds = 8;

void parked_in_between() {
  Movable client;
  allocate(100);  // it is never without movable memory
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    Model model(seed);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned steps = model.below(30); steps > 0; --steps) model.step();
      const std::size_t half = model.live() * kGrain / 2;
      client.parked(model.below(2) ? half + 1 : 0);
      if (model.below(3) == 0) client.parked();
      client.returned();
      model.check();
    }
    model.end();
  }
  expect(client.memory().unmovable.load() == 0, "all of it was movable");
}

void not_parked() {
  BestEffort client;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    Model model(seed);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned steps = model.below(30); steps > 0; --steps) model.step();
      model.check();
    }
    model.end();
  }
}

constexpr Case kCases[] = {
    {"random calls with parking in between see what the model says", parked_in_between},
    {"random calls of the driver's own memory see it, too", not_parked},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
