// The charges against a quota. Memory is recorded by its address or array, physical memory by its handles and by the
// addresses at which it is mapped. Guarded by the mutex in quota.cpp: allocations are rare, compared with launches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cotenant {

enum class Charged : std::uint32_t { kNothing, kMemory, kHandle, kMapping };

struct Charge {
  Charged what;
  std::uint32_t references;  // of a handle: how many releases it still needs
  std::uint64_t key;  // address, array or handle
  std::uint64_t bytes;
  std::uint64_t of;  // memory: the context that it ends with, or 0; a handle or mapping: its physical memory
};

class QuotaBook {
 public:
  // False: out of memory. A charge that is not recorded is never given back, which is safe.
  bool add(const Charge& charge) noexcept;
  [[nodiscard]] Charge* find(Charged what, std::uint64_t key) noexcept;
  Charge take(Charged what, std::uint64_t key) noexcept;  // kNothing: there is no such charge

  // Any charge for which `fits` returns true; null if there is none.
  template <class Fits>
  [[nodiscard]] Charge* any(Fits fits) noexcept {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (charges_[i].what != Charged::kNothing && fits(charges_[i])) return &charges_[i];
    return nullptr;
  }

  // A new number for a piece of physical memory. Numbers are never reused.
  [[nodiscard]] std::uint64_t new_physical() noexcept { return ++physicals_; }

  // Empties the book in a forked child. Its memory is not freed, because a thread of the parent may have been changing it.
  void forget() noexcept;

 private:
  [[nodiscard]] std::size_t place_of(Charged what, std::uint64_t key) const noexcept;
  bool grow() noexcept;

  Charge* charges_{nullptr};
  std::size_t capacity_{0};
  std::size_t count_{0};
  std::uint64_t physicals_{0};
};

}  // namespace cotenant
