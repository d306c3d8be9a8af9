#pragma once
// One piece of work as the device sees it: what a stream's queue and a graph's nodes hold. A Work owns all it
// needs (arguments, staged bytes), so that the module, event or graph it came from may go before it runs.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "driver/abi.h"
#include "softgpu/device/clock.h"

namespace cotenant::soft {

using namespace cotenant::cu;

struct Function;
struct Meeting;
struct Stream;

// A kernel's effect on memory when it finishes; see ptx.h for how a module says so.
struct Effect {
  enum class Kind { none, store, add, fill, fma } kind = Kind::none;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

// A launch as the application wrote it, kept for the queries and updates of graph nodes.
struct LaunchSpec {
  CUfunction function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  std::vector<unsigned char> arguments;  // packed in the layout of the function's parameters
  std::vector<void*> pointers;           // into arguments, one a parameter
};

// A kernel that can stop inside and go on in another launch; see ptx.h.
struct Resumable {
  std::uint64_t blocks = 0;  // of the whole grid; 0: it can't
  CUdeviceptr next = 0;      // a word: blocks done so far
  CUdeviceptr flag = 0;      // a word: not 0 = stop; 0: never
};

struct KernelWork {
  const char* name = "";  // interned: lives as long as the process
  Nanos duration = 0;     // on `sms` SMs
  unsigned sms = 1;
  Effect effect;
  Resumable resumable;
  Meeting* meeting = nullptr;  // with kernels of other devices
  int priority = 0;  // of the launch, if it has one
  bool has_priority = false;
  std::shared_ptr<const LaunchSpec> spec;
};

// A box of bytes: `depth` slices of `height` rows of `width` bytes.
struct Box {
  std::uintptr_t base = 0;
  std::size_t pitch = 0;
  std::size_t slice = 0;  // bytes from one slice to the next
};

enum class Direction { host_to_device, device_to_host, on_device, host_to_host };

struct CopyWork {
  Box to;
  Box from;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
  Direction direction = Direction::on_device;
  std::shared_ptr<std::vector<unsigned char>> staged;  // what `from` pointed to at the call, if it was pageable
  [[nodiscard]] std::size_t bytes() const { return width * height * depth; }
};

struct FillWork {
  Box to;
  std::size_t width = 0;  // elements
  std::size_t height = 1;
  unsigned value = 0;
  unsigned element = 1;  // bytes: 1, 2, 4
  [[nodiscard]] std::size_t bytes() const { return width * height * element; }
};

struct HostWork {
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;  // instead of function
  CUstream stream = nullptr;
  void* data = nullptr;
};

// Where an event was recorded. Shared by the event and by everybody who waits for that record.
struct Mark {
  bool done = false;
  Nanos at = 0;
  std::weak_ptr<Stream> stream;  // the operation that makes the record
  std::uint64_t number = 0;
};

struct RecordWork {
  std::shared_ptr<Mark> mark;
  CUevent event = nullptr;  // in a graph: the event gets a new mark at each launch
};

struct AwaitWork {
  CUevent event = nullptr;  // its mark is looked up at the launch of the graph
};

struct WordsWork {
  std::vector<CUstreamBatchMemOpParams> words;
};

struct ReleaseWork {
  CUdeviceptr pointer = 0;
};

using Work = std::variant<std::monostate, KernelWork, CopyWork, FillWork, HostWork, RecordWork, AwaitWork, WordsWork,
                          ReleaseWork>;

template <class T>
const T* as(const Work& work) {
  return std::get_if<T>(&work);
}

// Whether it takes a place in a stream's queue, which is limited: orders and records take none.
inline bool takes_place(const Work& work) {
  return as<KernelWork>(work) || as<CopyWork>(work) || as<FillWork>(work) || as<HostWork>(work) || as<WordsWork>(work);
}

// Works with their order: what one graph launch runs. Indices into `steps`.
struct Plan {
  struct Step {
    Work work;
    std::vector<unsigned> next;
    unsigned before = 0;  // how many steps lead here
    bool enabled = true;
  };
  std::vector<Step> steps;
};

}  // namespace cotenant::soft
