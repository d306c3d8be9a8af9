#pragma once
// Every range of memory the driver knows, by address. Device pointers are host addresses of private, lazily backed
// pages, so an allocation costs address space until it is touched; its whole size counts on the device at once.
// Guarded by the driver's mutex.
#include <map>
#include <memory>

#include "driver/abi.h"

namespace cotenant::soft {

using namespace cotenant::cu;

struct Context;
class Region;

struct Pool {
  unsigned device = 0;
  bool built_in = false;
  std::uint64_t threshold = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
  std::uint64_t max_size = 0;  // 0: the device
  int reuse[3] = {1, 1, 1};
};

struct Allocation {
  enum class Kind { device, managed, pinned, registered, mapped };
  Kind kind = Kind::device;
  std::uintptr_t base = 0;
  std::size_t size = 0;     // as asked for
  std::size_t charged = 0;  // bytes counted on the device
  unsigned device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  Context* context = nullptr;
  Pool* pool = nullptr;
  [[nodiscard]] bool on_device() const { return kind == Kind::device || kind == Kind::managed || kind == Kind::mapped; }
};

class Memory {
 public:
  explicit Memory(Region& region) : region_(region) {}

  CUresult allocate(Allocation::Kind kind, std::size_t bytes, unsigned device, Context* context, Pool* pool,
                    CUdeviceptr* out);
  CUresult register_host(void* pointer, std::size_t bytes, unsigned flags, Context* context);
  // Notes a range whose pages another object owns (mapped physical memory).
  void note(const Allocation& allocation) { ranges_[allocation.base] = allocation; }
  // Undoes allocate or register_host; false: no range begins there.
  bool release(CUdeviceptr pointer);
  void forget(CUdeviceptr pointer) { ranges_.erase(std::uintptr_t(pointer)); }
  void release_all(const Context* context);  // what ends with its context: all but the memory of pools

  // The range that holds [pointer, pointer + bytes); null: none does. Mappings that lie beside each other hold it together:
  // then it is the first of them.
  Allocation* find(CUdeviceptr pointer, std::size_t bytes = 1);

  // Address ranges that are reserved for mappings.
  void note_reserved(std::uintptr_t base, std::size_t bytes) { reserved_[base] = bytes; }
  // The bytes of the reservation that begins there; 0: none does.
  [[nodiscard]] std::size_t reserved_at(std::uintptr_t base) const;
  void forget_reserved(std::uintptr_t base) { reserved_.erase(base); }
  [[nodiscard]] bool is_reserved(CUdeviceptr pointer, std::size_t bytes = 1) const;
  // Whether something is mapped into the range.
  [[nodiscard]] bool has_mappings(std::uintptr_t base, std::size_t bytes) const;
  [[nodiscard]] bool pageable(const void* pointer) {
    const auto at = CUdeviceptr(reinterpret_cast<std::uintptr_t>(pointer));
    return find(at) == nullptr && !is_reserved(at);
  }

  Pool* default_pool(unsigned device);

 private:
  Region& region_;
  std::map<std::uintptr_t, Allocation> ranges_;
  std::map<std::uintptr_t, std::size_t> reserved_;
  std::uint64_t ids_ = 0;
  std::unique_ptr<Pool> pools_[8];
};

Memory& memory();

}  // namespace cotenant::soft
