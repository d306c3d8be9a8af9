// Open addressing: a search looks at one place after the other from its key's home on, until it finds the key or a free
// place.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/base/hash.h"

namespace cotenant {

// Calls look(i) for the places of a table of `size` places (a power of two) in the order of the search for `key`, until it
// returns true. False: it never did.
template <class Look>
bool probe(std::uint64_t key, std::size_t size, Look&& look) noexcept {
  for (std::size_t i = 0, at = home_of(key, size); i < size; ++i, at = (at + 1) & (size - 1))
    if (look(at)) return true;
  return false;
}

// A lock-free table of fixed size, from which nothing is removed but all at once. A Place has a member `std::atomic<std::uint64_t> key`, which
// is 0 while the place is free; 0 is no key.
template <class Place, std::size_t kSize>
class Table {
  static_assert((kSize & (kSize - 1)) == 0, "a power of two");

 public:
  struct Found {
    Place* place;  // null: the table is full
    bool added;  // by this call
  };

  // Null: the table does not contain the key.
  [[nodiscard]] Place* find(std::uint64_t key) noexcept { return find_or_add(key, 0).place; }

  // Adds the key if the table lacks it and has fewer than `most` keys. Data that another thread writes into the place
  // after adding the key may not be visible yet.
  [[nodiscard]] Found find_or_add(std::uint64_t key, std::size_t most = kSize) noexcept {
    Found found{nullptr, false};
    probe(key, kSize, [&](std::size_t at) {
      Place& place = places_[at];
      std::uint64_t known = place.key.load(std::memory_order_acquire);
      if (known == 0) {
        if (used_.load(std::memory_order_relaxed) >= most) return true;
        if (place.key.compare_exchange_strong(known, key, std::memory_order_acq_rel)) {
          used_.fetch_add(1, std::memory_order_relaxed);
          found.added = true;
          known = key;
        }
      }
      if (known != key) return false;
      found.place = &place;
      return true;
    });
    return found;
  }

  // Removes all keys. `before(first, count)` is called with the places. Who still has one of them may find another key in it, and
  // who searches meanwhile may add a key twice.
  template <class Before>
  void clear(Before&& before) noexcept {
    before(places_, kSize);
    for (Place& place : places_) place.clear();
    used_.store(0, std::memory_order_relaxed);
  }

 private:
  Place places_[kSize];
  std::atomic<std::size_t> used_{0};
};

}  // namespace cotenant
