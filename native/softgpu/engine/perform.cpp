// Performs work: it moves bytes, writes words and waits for them, calls functions. Large copies and host functions
// run on the engine's helper thread without the driver's mutex. All else is done by the thread that pumps.
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include "softgpu/device/memory.h"
#include "softgpu/device/turn.h"
#include "softgpu/engine/engine.h"
#include "softgpu/entry/thread_state.h"

namespace cotenant::soft {
namespace {

constexpr std::size_t kSmall = 256 << 10;  // bytes moved while holding the mutex
constexpr Nanos kCopyLatency = 1 * kMicro;

std::size_t bytes(const Unit& unit) {
  if (const auto* copy = as<CopyWork>(*unit.work)) return copy->bytes();
  return as<FillWork>(*unit.work)->bytes();
}

// Bytes a nanosecond: 25 GB/s to and from the host, 2 TB/s on the device.
Nanos copy_time(const Unit& unit) {
  const auto* copy = as<CopyWork>(*unit.work);
  const bool crosses = copy != nullptr && copy->direction != Direction::on_device;
  return kCopyLatency + bytes(unit) / (crosses ? 25 : 2000);
}

void move(const Work& work) {
  if (const auto* copy = as<CopyWork>(work)) move(*copy);
  if (const auto* fill = as<FillWork>(work)) move(*fill);
}

// Words live in host memory that a CPU may store to at any time.
template <class T>
bool holds(CUdeviceptr address, T value, unsigned flags) {
  const T found = __atomic_load_n(reinterpret_cast<const T*>(std::uintptr_t(address)), __ATOMIC_ACQUIRE);
  switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_EQ: return found == value;
    case CU_STREAM_WAIT_VALUE_AND: return (found & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return T(~(found | value)) != 0;
    default: return std::make_signed_t<T>(found - value) >= 0;
  }
}

template <class T>
void write(CUdeviceptr address, T value) {
  __atomic_store_n(reinterpret_cast<T*>(std::uintptr_t(address)), value, __ATOMIC_RELEASE);
}

}  // namespace

void move(const CopyWork& copy) {
  const auto* from = copy.staged ? copy.staged->data() : reinterpret_cast<const unsigned char*>(copy.from.base);
  auto* to = reinterpret_cast<unsigned char*>(copy.to.base);
  for (std::size_t z = 0; z < copy.depth; ++z) {
    for (std::size_t y = 0; y < copy.height; ++y) {
      memmove(to + z * copy.to.slice + y * copy.to.pitch, from + z * copy.from.slice + y * copy.from.pitch, copy.width);
    }
  }
}

void move(const FillWork& fill) {
  const std::size_t row = fill.width * fill.element;
  for (std::size_t y = 0; y < fill.height; ++y) {
    auto* to = reinterpret_cast<unsigned char*>(fill.to.base + y * fill.to.pitch);
    if (fill.element == 1) {
      memset(to, int(fill.value & 0xff), row);
    } else if (fill.element == 2) {
      std::fill_n(reinterpret_cast<std::uint16_t*>(to), fill.width, std::uint16_t(fill.value));
    } else {
      std::fill_n(reinterpret_cast<std::uint32_t*>(to), fill.width, fill.value);
    }
  }
}

void apply(const Effect& effect) {
  auto* words = reinterpret_cast<std::uint32_t*>(std::uintptr_t(effect.a));
  if (effect.kind == Effect::Kind::none || words == nullptr) return;
  switch (effect.kind) {
    case Effect::Kind::store: __atomic_store_n(words, std::uint32_t(effect.b), __ATOMIC_RELEASE); break;
    case Effect::Kind::add: __atomic_fetch_add(words, std::uint32_t(effect.b), __ATOMIC_ACQ_REL); break;
    case Effect::Kind::fill: std::fill_n(words, effect.b, std::uint32_t(effect.c)); break;
    case Effect::Kind::fma: {
      auto* values = reinterpret_cast<float*>(words);
      float factor;
      const auto bits = std::uint32_t(effect.c);
      std::memcpy(&factor, &bits, sizeof factor);
      for (std::uint64_t i = 0; i < effect.b; ++i) values[i] = values[i] * factor + 1.0f;
      break;
    }
    case Effect::Kind::none: break;
  }
}

void Engine::queue_copy(Unit& unit, unsigned device, Direction direction) {
  const unsigned which = direction == Direction::host_to_device ? 0 : direction == Direction::device_to_host ? 1 : 2;
  CopyEngine& copier = copiers_[device][which];
  copier.queue.push_back(&unit);
  if (copier.queue.size() == 1) start_copy(copier);
}

void Engine::start_copy(CopyEngine& copier) {
  if (copier.queue.empty()) return;
  Unit& unit = *copier.queue.front();
  unit.begin = std::max(unit.ready, copier.free);
  unit.end = unit.begin + copy_time(unit);
  unit.state = Unit::State::running;
  if (bytes(unit) > kSmall) {
    unit.state = Unit::State::moving;
    to_helper(unit);
    return;
  }
  move(*unit.work);
  unit.moved = true;
}

void Engine::to_helper(Unit& unit) {
  helper_queue_.push_back(&unit);
  helper_bell_.notify_one();
}

void Engine::help() {
  prctl(PR_SET_NAME, "softgpu-helper");
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    while (helper_queue_.empty()) helper_bell_.wait(lock);
    Unit& unit = *helper_queue_.front();
    helper_queue_.pop_front();
    helping_ = &unit;
    lock.unlock();
    if (const auto* host = as<HostWork>(*unit.work)) {
      const CallbackScope inside;  // CUDA calls from here are refused
      if (host->callback != nullptr) host->callback(host->stream, CUDA_SUCCESS, host->data);
      else host->function(host->data);
    } else {
      move(*unit.work);
    }
    lock.lock();
    helping_ = nullptr;
    if (as<HostWork>(*unit.work)) {
      finish(unit, now());
    } else {
      unit.end = std::max(unit.end, now());
      unit.moved = true;
    }
    helped_.notify_all();
    pump(now());
    rethink();
  }
}

void Engine::poll(Unit& unit, Nanos at) {
  const bool parked = unit.state == Unit::State::parked;
  bool done = true;
  if (as<RecordWork>(*unit.work)) {
    unit.mark->done = true;
    unit.mark->at = at;
  } else if (as<AwaitWork>(*unit.work)) {
    done = !unit.mark || unit.mark->done;
  } else if (const auto* release = as<ReleaseWork>(*unit.work)) {
    memory().release(release->pointer);
  } else {
    done = run_words(unit);
  }
  if (done) {
    finish(unit, at);
  } else if (!parked) {
    unit.state = Unit::State::parked;
    parked_.push_back(&unit);
    parked_since_ = now();
  }
}

bool Engine::run_words(Unit& unit) {
  const auto& words = as<WordsWork>(*unit.work)->words;
  for (; unit.word < words.size(); ++unit.word) {
    const CUstreamBatchMemOpParams& word = words[unit.word];
    const auto& value = word.waitValue;
    // Memory that was freed while a wait on it was pending is not read again.
    const bool there = memory().find(value.address) != nullptr;
    switch (word.operation) {
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        if (there) write(value.address, value.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        if (there) write(value.address, value.value64);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        if (!there || !holds(value.address, value.value, value.flags)) return false;
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        if (!there || !holds(value.address, value.value64, value.flags)) return false;
        break;
      default: break;  // barriers and flushes: all work here is ordered and flushed already
    }
  }
  return true;
}

void Engine::poll_parked(Nanos at) {
  if (parked_.empty()) return;
  std::vector<Unit*> before;
  before.swap(parked_);
  for (Unit* unit : before) {
    poll(*unit, at);
    if (unit->state == Unit::State::parked) parked_.push_back(unit);
  }
}

}  // namespace cotenant::soft
