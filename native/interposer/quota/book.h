// What is charged to a quota: memory by its address or array, physical memory by its handles and by where it is mapped.
// Guarded by quota.cpp's mutex; allocations are rare beside launches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cotenant {

enum class Charged : std::uint32_t { kNothing, kMemory, kHandle, kMapping };

struct Charge {
  Charged what;
  std::uint32_t references;  // of a handle: how often it must be released
  std::uint64_t key;  // address, array or handle
  std::uint64_t bytes;
  std::uint64_t of;  // memory: the context that it ends with, or 0; a handle or mapping: its physical memory
};

class QuotaBook {
 public:
  // False: there is no memory for it. What is not remembered stays charged: the safe side.
  bool add(const Charge& charge) noexcept;
  [[nodiscard]] Charge* find(Charged what, std::uint64_t key) noexcept;
  Charge take(Charged what, std::uint64_t key) noexcept;  // kNothing: not there

  // Any one that `fits`; null: none does.
  template <class Fits>
  [[nodiscard]] Charge* any(Fits fits) noexcept {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (charges_[i].what != Charged::kNothing && fits(charges_[i])) return &charges_[i];
    return nullptr;
  }

  // The physical memory that begins to be used: a number for it, never used again.
  [[nodiscard]] std::uint64_t new_physical() noexcept { return ++physicals_; }

  // As if nothing had been added. What it holds is left: a thread of the parent of this process may be changing it.
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
