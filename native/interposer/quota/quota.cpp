#include "interposer/quota/quota.h"

#include <pthread.h>

#include <atomic>

#include "interposer/quota/book.h"
#include "interposer/state/gpu.h"

namespace cotenant {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;  // so that no older figure comes after a newer one
QuotaBook book;
std::atomic<std::uint64_t> used{0};    // without the graphs' own allocations
std::atomic<std::uint64_t> graphs{0};  // bytes that the graphs' own allocations hold
std::atomic<std::uint64_t> refusals{0};
std::atomic<bool> told_refusal{false};

class Booking {
 public:
  Booking() noexcept { pthread_mutex_lock(&mutex); }
  ~Booking() {
    pthread_mutex_unlock(&mutex);
    quota_publish();
  }
  Booking(const Booking&) = delete;
  Booking& operator=(const Booking&) = delete;
};

std::uint64_t total_used() noexcept {
  return used.load(std::memory_order_relaxed) + graphs.load(std::memory_order_relaxed);
}

void refund(std::uint64_t bytes) noexcept { used.fetch_sub(bytes, std::memory_order_relaxed); }

// Bytes; 0: no limit. The smaller of what this process asks for and what the agent allows.
std::uint64_t allowed() noexcept {
  const std::uint64_t wanted = environment().memory_quota;
  const Link* link = own_link();
  const std::uint64_t granted = link ? link->memory_quota : 0;
  return wanted == 0 || (granted != 0 && granted < wanted) ? granted : wanted;
}

// A number of bytes for people: in the largest unit, and that unit.
struct Size {
  double number;
  const char* unit;
};
Size size_of(std::uint64_t bytes) noexcept {
  constexpr double kMiB = 1 << 20;
  const double mib = static_cast<double>(bytes) / kMiB;
  return mib < 1024 ? Size{mib, "MiB"} : Size{mib / 1024, "GiB"};
}

// Says it once: frameworks free their caches and try again, and what happens later is counted.
void tell_refusal(std::uint64_t bytes, std::uint64_t quota) noexcept {
  if (told_refusal.exchange(true)) return;
  const bool own = quota == environment().memory_quota;
  const Size asked = size_of(bytes);
  const Size may = size_of(quota);
  const Size has = size_of(total_used());
  tell("%.1f %s of GPU memory refused: %s may have %.1f %s (%s), and has %.1f %s.", asked.number, asked.unit,
       environment().name, may.number, may.unit, own ? "run --memory" : "its grant", has.number, has.unit);
}

bool refuse(std::uint64_t bytes, std::uint64_t quota) noexcept {
  refusals.fetch_add(1, std::memory_order_relaxed);
  quota_publish();
  tell_refusal(bytes, quota);
  return false;
}

// No handle of it is left, and it is not mapped.
void free_unless_held(std::uint64_t physical, std::uint64_t bytes) noexcept {
  const auto holds = [&](const Charge& each) { return each.what != Charged::kMemory && each.of == physical; };
  if (!book.any(holds)) refund(bytes);
}

}  // namespace

bool quota_counts() noexcept { return role() == Role::kBestEffort; }

void quota_publish() noexcept {
  const Link* link = own_link();
  if (!link || !quota_counts()) return;
  protocol::BestEffortSlot& slot = link->best_effort();
  pthread_mutex_lock(&publishing);
  slot.memoryUsed.store(total_used(), std::memory_order_relaxed);
  slot.memoryQuota.store(allowed(), std::memory_order_relaxed);
  slot.memoryRefusals.store(refusals.load(std::memory_order_relaxed), std::memory_order_relaxed);
  pthread_mutex_unlock(&publishing);
}

bool quota_reserve(std::uint64_t bytes) noexcept {
  const std::uint64_t quota = allowed();
  const std::uint64_t before =
      used.fetch_add(bytes, std::memory_order_relaxed) + graphs.load(std::memory_order_relaxed);
  if (quota == 0 || (before + bytes <= quota && before + bytes >= before)) return true;
  refund(bytes);
  return refuse(bytes, quota);
}

void quota_unreserve(std::uint64_t bytes) noexcept {
  refund(bytes);
  quota_publish();
}

void quota_charge(std::uint64_t handle, std::uint64_t bytes, cu::CUcontext context) noexcept {
  const Booking booking;
  book.add({Charged::kMemory, 0, handle, bytes, reinterpret_cast<std::uintptr_t>(context)});
}

void quota_release(std::uint64_t handle) noexcept {
  if (!quota_counts() || handle == 0) return;
  const Booking booking;
  refund(book.take(Charged::kMemory, handle).bytes);
}

void quota_context_ended(cu::CUcontext context) noexcept {
  if (!quota_counts() || !context) return;
  const Booking booking;
  const auto gone = [&](const Charge& each) {
    return each.what == Charged::kMemory && each.of == reinterpret_cast<std::uintptr_t>(context);
  };
  while (const Charge* each = book.any(gone)) refund(book.take(Charged::kMemory, each->key).bytes);
}

void quota_context_joins(cu::CUcontext green, cu::CUcontext context) noexcept {
  if (!quota_counts() || green == context) return;
  const Booking booking;
  const auto made_in = [&](const Charge& each) {
    return each.what == Charged::kMemory && each.of == reinterpret_cast<std::uintptr_t>(green);
  };
  while (Charge* each = book.any(made_in)) each->of = reinterpret_cast<std::uintptr_t>(context);
}

void quota_note_created(cu::CUmemGenericAllocationHandle handle, std::uint64_t bytes) noexcept {
  const Booking booking;
  book.add({Charged::kHandle, 1, handle, bytes, book.new_physical()});
}

void quota_note_mapped(cu::CUdeviceptr address, cu::CUmemGenericAllocationHandle handle) noexcept {
  if (!quota_counts()) return;
  const Booking booking;
  // An unknown handle refers to memory that another process created.
  if (const Charge* physical = book.find(Charged::kHandle, handle))
    book.add({Charged::kMapping, 0, address, physical->bytes, physical->of});
}

void quota_note_unmapped(cu::CUdeviceptr address, std::uint64_t bytes) noexcept {
  if (!quota_counts()) return;
  const Booking booking;
  const auto inside = [&](const Charge& each) {
    return each.what == Charged::kMapping && each.key >= address && each.key - address < bytes;
  };
  while (const Charge* each = book.any(inside)) {
    const Charge mapping = book.take(Charged::kMapping, each->key);
    free_unless_held(mapping.of, mapping.bytes);
  }
}

void quota_note_retained(cu::CUmemGenericAllocationHandle handle, cu::CUdeviceptr address) noexcept {
  if (!quota_counts()) return;
  const Booking booking;
  if (Charge* known = book.find(Charged::kHandle, handle)) {
    ++known->references;
    return;
  }
  // The mapping with the highest start that is not above the address.
  const Charge* mapping = nullptr;
  static_cast<void>(book.any([&](const Charge& each) {
    if (each.what == Charged::kMapping && each.key <= address && address - each.key < each.bytes) mapping = &each;
    return mapping != nullptr;
  }));
  if (!mapping) return;
  const Charge physical = *mapping;
  book.add({Charged::kHandle, 1, handle, physical.bytes, physical.of});
}

void quota_note_handle_released(cu::CUmemGenericAllocationHandle handle) noexcept {
  if (!quota_counts()) return;
  const Booking booking;
  Charge* known = book.find(Charged::kHandle, handle);
  if (!known || --known->references > 0) return;
  const Charge physical = book.take(Charged::kHandle, handle);
  free_unless_held(physical.of, physical.bytes);
}

void quota_graphs_hold(std::uint64_t bytes) noexcept {
  const Booking booking;
  graphs.store(bytes, std::memory_order_relaxed);
}

std::uint64_t quota_graphs() noexcept { return graphs.load(std::memory_order_relaxed); }

bool quota_fits_graph(std::uint64_t bytes) noexcept {
  const std::uint64_t quota = allowed();
  if (quota == 0 || used.load(std::memory_order_relaxed) + bytes <= quota) return true;
  return refuse(bytes, quota);
}

void quota_forget() noexcept {
  pthread_mutex_init(&mutex, nullptr);
  pthread_mutex_init(&publishing, nullptr);
  book.forget();
  used.store(0, std::memory_order_relaxed);
  graphs.store(0, std::memory_order_relaxed);
  refusals.store(0, std::memory_order_relaxed);
  told_refusal.store(false, std::memory_order_relaxed);
}

bool quota_view(std::uint64_t& free_bytes, std::uint64_t& total_bytes) noexcept {
  const std::uint64_t quota = allowed();
  if (!quota_counts() || quota == 0) return false;
  const std::uint64_t now = total_used();
  const std::uint64_t left = now < quota ? quota - now : 0;
  if (total_bytes > quota) total_bytes = quota;
  if (free_bytes > left) free_bytes = left;
  return true;
}

}  // namespace cotenant
