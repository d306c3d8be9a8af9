#include "interposer/movable/access.h"

namespace cotenant {

using namespace cu;

namespace {

bool is_same(const CUmemLocation& one, const CUmemLocation& other) noexcept {
  return one.type == other.type && one.id == other.id;
}

bool is_before(const CUmemLocation& one, const CUmemLocation& other) noexcept {
  return one.type != other.type ? one.type < other.type : one.id < other.id;
}

}  // namespace

// The first entry that is behind all that begin at or below the address, of this location.
std::size_t AccessBook::first_above(const CUmemLocation& from, CUdeviceptr at) noexcept {
  std::size_t low = 0;
  for (std::size_t high = entries_.count(); low < high;) {
    const std::size_t middle = (low + high) / 2;
    const Entry& entry = entries_[middle];
    const bool below = is_same(entry.access.location, from) ? entry.at <= at : is_before(entry.access.location, from);
    if (below) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Takes the range out of the entries of a location.
bool AccessBook::cut(const CUmemLocation& from, CUdeviceptr at, std::uint64_t bytes) noexcept {
  const CUdeviceptr end = at + bytes;
  std::size_t i = first_above(from, at);
  if (i > 0) --i;  // it may reach into the range
  while (i < entries_.count()) {
    Entry& entry = entries_[i];
    const CUdeviceptr entry_end = entry.at + entry.bytes;
    if (!is_same(entry.access.location, from) || entry_end <= at) {
      if (!is_same(entry.access.location, from) && !is_before(entry.access.location, from)) break;
      ++i;
      continue;
    }
    if (entry.at >= end) break;
    const Entry behind{entry.access, end, entry_end - end};
    if (entry.at >= at && entry_end <= end) {
      entries_.remove(i);
    } else if (entry.at >= at) {
      entry = behind;
    } else {
      entry.bytes = at - entry.at;
      ++i;
      if (entry_end > end) return entries_.insert(i, behind);
    }
  }
  return true;
}

bool AccessBook::set(CUdeviceptr at, std::uint64_t bytes, const CUmemAccessDesc& access) noexcept {
  if (!cut(access.location, at, bytes)) return false;
  if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return true;
  return entries_.insert(first_above(access.location, at), {access, at, bytes});
}

bool AccessBook::clear(CUdeviceptr at, std::uint64_t bytes) noexcept {
  bool whole = true;
  for (std::size_t i = 0; i < entries_.count();) {
    const CUmemLocation location = entries_[i].access.location;
    whole = cut(location, at, bytes) && whole;
    i = first_above(location, ~CUdeviceptr{0});
  }
  return whole;
}

bool AccessBook::is_writable(CUdeviceptr at, std::uint64_t bytes, CUdevice device) noexcept {
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, device};
  const CUdeviceptr end = at + bytes;
  while (at < end) {
    const std::size_t above = first_above(location, at);
    if (above == 0) return false;
    const Entry& entry = entries_[above - 1];
    if (!is_same(entry.access.location, location) || entry.at + entry.bytes <= at ||
        entry.access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return false;
    at = entry.at + entry.bytes;
  }
  return true;
}

}  // namespace cotenant
