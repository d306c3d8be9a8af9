#include "interposer/high/words.h"

#include <sys/mman.h>

#include "interposer/lookup/entry.h"
#include "interposer/state/capture.h"
#include "interposer/state/gpu.h"

namespace cotenant {

std::atomic<int> words_wanted{0};

namespace {

constexpr cu::CUdeviceptr kRefusedWords = 1;
constexpr std::size_t kBytes = kWordsOfStream * kStreams * sizeof(std::uint32_t);  // whole pages

std::size_t place_of(const Stream& stream, SequenceWord which) noexcept {
  return static_cast<std::size_t>(which) * kStreams + stream.index;
}

// Null: not possible now, or this driver refuses. The memory is never unmapped, so a thread may still read a word after its
// context has ended.
std::uint32_t* usable_words(Context& context) noexcept {
  const cu::CUdeviceptr known = context.words_device.load(std::memory_order_acquire);
  if (known != 0) return known == kRefusedWords ? nullptr : context.words.load(std::memory_order_relaxed);
  static std::atomic<bool> busy{false};  // one thread registers; others go on without words
  if (busy.exchange(true, std::memory_order_acquire)) return nullptr;
  std::uint32_t* words = context.words.load(std::memory_order_relaxed);
  if (!words) {
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    words = at == MAP_FAILED ? nullptr : static_cast<std::uint32_t*>(at);
    context.words.store(words, std::memory_order_release);
  }
  cu::CUdeviceptr device = 0;
  const BesideCaptures beside;
  constexpr unsigned kFlags = cu::CU_MEMHOSTREGISTER_PORTABLE | cu::CU_MEMHOSTREGISTER_DEVICEMAP;
  const cu::CUresult result = words && real().cuMemHostRegister_v2 ? real().cuMemHostRegister_v2(words, kBytes, kFlags)
                                                                   : cu::CUDA_ERROR_NOT_SUPPORTED;
  const bool registered = result == cu::CUDA_SUCCESS || result == cu::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  const bool able = registered && real().cuMemHostGetDevicePointer_v2(&device, words, 0) == cu::CUDA_SUCCESS;
  context.words_device.store(able ? device : kRefusedWords, std::memory_order_release);
  busy.store(false, std::memory_order_release);
  return able ? words : nullptr;
}

}  // namespace

bool words_work(Context& context) noexcept { return real().cuStreamWriteValue32_v2 && usable_words(context); }

std::uint32_t read_word(const Stream& stream, SequenceWord which) noexcept {
  const std::uint32_t* words = stream.context->words.load(std::memory_order_acquire);
  return words ? __atomic_load_n(words + place_of(stream, which), __ATOMIC_ACQUIRE) : 0;
}

cu::CUdeviceptr word_address(const Stream& stream, SequenceWord which) noexcept {
  return stream.context->words_device.load(std::memory_order_relaxed) + sizeof(std::uint32_t) * place_of(stream, which);
}

void write_word(Stream& stream, SequenceWord which, std::uint32_t number) noexcept {
  if (real().cuStreamWriteValue32_v2(stream.handle, word_address(stream, which), number, 0) != cu::CUDA_SUCCESS) return;
  if (const Link* link = stream.context->gpu->link.load(std::memory_order_acquire))
    link->high().tailWrites.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace cotenant
