#include "interposer/quota/book.h"

#include <cstdlib>

#include "interposer/base/table.h"

namespace cotenant {
namespace {

std::uint64_t hash_key(Charged what, std::uint64_t key) noexcept { return key + static_cast<std::uint64_t>(what); }

// The hash table is at most half full.
void insert(Charge* into, std::size_t size, const Charge& charge) noexcept {
  probe(hash_key(charge.what, charge.key), size, [&](std::size_t at) {
    if (into[at].what != Charged::kNothing) return false;
    into[at] = charge;
    return true;
  });
}

}  // namespace

std::size_t QuotaBook::place_of(Charged what, std::uint64_t key) const noexcept {
  std::size_t place = 0;
  probe(hash_key(what, key), capacity_, [&](std::size_t at) {
    place = at;
    return charges_[at].what == Charged::kNothing || (charges_[at].what == what && charges_[at].key == key);
  });
  return place;
}

bool QuotaBook::grow() noexcept {
  const std::size_t size = capacity_ ? capacity_ * 2 : 1024;
  auto* larger = static_cast<Charge*>(std::calloc(size, sizeof(Charge)));
  if (!larger) return false;
  for (std::size_t i = 0; i < capacity_; ++i)
    if (charges_[i].what != Charged::kNothing) insert(larger, size, charges_[i]);
  std::free(charges_);
  charges_ = larger;
  capacity_ = size;
  return true;
}

bool QuotaBook::add(const Charge& charge) noexcept {
  if ((count_ + 1) * 2 > capacity_ && !grow()) return false;
  insert(charges_, capacity_, charge);
  ++count_;
  return true;
}

Charge* QuotaBook::find(Charged what, std::uint64_t key) noexcept {
  if (!capacity_) return nullptr;
  Charge& found = charges_[place_of(what, key)];
  return found.what == Charged::kNothing ? nullptr : &found;
}

// Closes the gap, so that later entries of the same probe chain are still found.
Charge QuotaBook::take(Charged what, std::uint64_t key) noexcept {
  if (!capacity_) return {};
  const std::size_t at = place_of(what, key);
  const Charge taken = charges_[at];
  if (taken.what == Charged::kNothing) return taken;
  charges_[at] = {};
  --count_;
  for (std::size_t next = (at + 1) & (capacity_ - 1); charges_[next].what != Charged::kNothing;
       next = (next + 1) & (capacity_ - 1)) {
    const Charge moved = charges_[next];
    charges_[next] = {};
    insert(charges_, capacity_, moved);
  }
  return taken;
}

void QuotaBook::forget() noexcept {
  charges_ = nullptr;
  capacity_ = count_ = 0;
}

}  // namespace cotenant
