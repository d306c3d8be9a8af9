#include "interposer/movable/own_memory.h"

#include <cstdlib>
#include <iterator>

#include "interposer/lookup/beside_captures.h"
#include "interposer/lookup/entry.h"
#include "interposer/movable/access.h"
#include "interposer/movable/blocks.h"
#include "interposer/movable/movable.h"
#include "interposer/state/gpu.h"

namespace cotenant {

using namespace cu;

namespace {

// All guarded by HeldBlocks, also during the driver's calls: they change both sides.
Array<OwnMemory*> memories;  // by handle
Array<OwnMapping*> mappings;  // by address
AccessBook access_book;
std::uint64_t handles = 0;

// The driver's handles are addresses or small numbers. No address begins like this.
constexpr CUmemGenericAllocationHandle kOurs = 0xc07eull << 48;

constexpr CUpointer_attribute kIds[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID};

// The place of the first item whose key is not below; all are sorted by it.
template <class T, class Key>
std::size_t place_of(Array<T*>& sorted, std::uint64_t key, Key key_of) noexcept {
  std::size_t low = 0;
  for (std::size_t high = sorted.count(); low < high;) {
    const std::size_t middle = (low + high) / 2;
    if (key_of(*sorted[middle]) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

std::size_t place_of_handle(CUmemGenericAllocationHandle handle) noexcept {
  return place_of(memories, handle, [](const OwnMemory& each) { return each.handle; });
}

// Index of the first mapping that ends above the address.
std::size_t place_of_mapping(CUdeviceptr at) noexcept {
  return place_of(mappings, at + 1, [](const OwnMapping& each) { return each.at + each.bytes; });
}

OwnMemory* memory_of(CUmemGenericAllocationHandle handle) noexcept {
  const std::size_t at = place_of_handle(handle);
  return at < memories.count() && memories[at]->handle == handle ? memories[at] : nullptr;
}

OwnMapping* mapping_at(CUdeviceptr address) noexcept {
  const std::size_t at = place_of_mapping(address);
  return at < mappings.count() && mappings[at]->at <= address ? mappings[at] : nullptr;
}

// Calls `use` with each mapping that overlaps the range.
template <class Use>
void each_mapping(CUdeviceptr at, std::uint64_t bytes, Use use) noexcept {
  for (std::size_t i = place_of_mapping(at); i < mappings.count() && mappings[i]->at < at + bytes; ++i)
    use(*mappings[i]);
}

void stay(OwnMemory& memory) noexcept {
  if (!memory.block) return;
  blocks_remove(memory.block);
  std::free(memory.block);
  memory.block = nullptr;
  note_unmovable(protocol::Unmovable::kMapped);
}

// Not all that happened could be noted, so nothing can be made again as it is.
void all_stay() noexcept {
  for (std::size_t i = 0; i < memories.count(); ++i) stay(*memories[i]);
}

// It is neither held nor mapped any more: the driver frees it.
CUresult end_if_unused(OwnMemory& memory) noexcept {
  if (memory.references > 0 || memory.mappings) return CUDA_SUCCESS;
  const CUresult result = real().cuMemRelease(memory.real);
  if (memory.block) blocks_remove(memory.block);
  std::free(memory.block);
  memories.remove(place_of_handle(memory.handle));
  std::free(&memory);
  return result;
}

void unlink(const OwnMapping& mapping) noexcept {
  OwnMapping** link = &mapping.memory->mappings;
  while (*link != &mapping) link = &(*link)->next;
  *link = mapping.next;
}

// Notes the driver's ids of memory that the program has had from the start.
void keep_ids(OwnMapping& mapping) noexcept {
  for (std::size_t i = 0; i < std::size(kIds); ++i)
    if (mapping.ids[i] == 0 && real().cuPointerGetAttribute(&mapping.ids[i], kIds[i], mapping.at) != CUDA_SUCCESS)
      mapping.ids[i] = 0;
}

// All or nothing.
CUresult map_all(const OwnMemory& memory) noexcept {
  for (const OwnMapping* each = memory.mappings; each; each = each->next) {
    const CUresult result = real().cuMemMap(each->at, each->bytes, each->offset, memory.real, 0);
    if (result == CUDA_SUCCESS) continue;
    for (const OwnMapping* done = memory.mappings; done != each; done = done->next)
      static_cast<void>(real().cuMemUnmap(done->at, done->bytes));
    return result;
  }
  return CUDA_SUCCESS;
}

// Those that `which` says yes to.
template <class Which>
CUresult set_again(Which which) noexcept {
  CUresult result = CUDA_SUCCESS;
  for (std::size_t i = 0; i < access_book.count() && result == CUDA_SUCCESS; ++i) {
    const AccessBook::Entry& entry = access_book[i];
    bool wanted = false;
    each_mapping(entry.at, entry.bytes, [&](const OwnMapping& each) { wanted = wanted || which(*each.memory); });
    if (wanted) result = real().cuMemSetAccess(entry.at, entry.bytes, &entry.access, 1);
  }
  return result;
}

}  // namespace

// Memory that may be exported moves until it is exported: PyTorch asks for that, and hardly ever does it. Compressed
// memory may be had uncompressed at the next time, which the program could see.
bool own_can_move(const CUmemAllocationProp& properties) noexcept {
  const Gpu* gpu = gpu_at_work();
  return gpu && properties.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == gpu->identity.ordinal &&
         properties.allocFlags.compressionType == 0 && properties.allocFlags.usage == 0 &&
         !properties.win32HandleMetaData && real().cuMemCreate && real().cuMemRelease && real().cuMemMap &&
         real().cuMemUnmap && real().cuMemSetAccess && real().cuMemAddressReserve && real().cuMemAddressFree;
}

CUresult own_create(CUmemGenericAllocationHandle& handle, std::uint64_t bytes, const CUmemAllocationProp& properties,
                    CUcontext context) noexcept {
  const HeldBlocks held;
  auto* memory = static_cast<OwnMemory*>(std::calloc(1, sizeof(OwnMemory)));
  auto* block = static_cast<Block*>(std::calloc(1, sizeof(Block)));
  CUresult result =
      memory && block ? real().cuMemCreate(&memory->real, bytes, &properties, 0) : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    memory->handle = kOurs | ++handles;
    memory->properties = properties;
    memory->bytes = block->bytes = block->asked = bytes;
    memory->references = 1;
    memory->block = block;
    block->device = properties.location.id;
    block->context = context;
    block->there = true;
    block->own = memory;
    block->rdma = properties.allocFlags.gpuDirectRDMACapable != 0;
    if (blocks_add(block) && memories.insert(memories.count(), memory)) {
      handle = memory->handle;
      return result;
    }
    blocks_remove(block);
    static_cast<void>(real().cuMemRelease(memory->real));
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::free(memory);
  std::free(block);
  return result;
}

bool own_release(CUmemGenericAllocationHandle handle, CUresult& result) noexcept {
  const HeldBlocks held;
  OwnMemory* memory = memory_of(handle);
  if (!memory) return false;
  result = CUDA_ERROR_INVALID_VALUE;
  if (memory->references == 0) return true;
  --memory->references;
  result = end_if_unused(*memory);
  return true;
}

bool own_retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle, CUresult& result) noexcept {
  const HeldBlocks held;
  const OwnMapping* mapping = mapping_at(address);
  if (!mapping) return false;
  result = CUDA_ERROR_INVALID_VALUE;
  if (!handle) return true;
  ++mapping->memory->references;
  *handle = mapping->memory->handle;
  result = CUDA_SUCCESS;
  return true;
}

bool own_map(CUdeviceptr at, std::uint64_t bytes, std::uint64_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags, CUresult& result) noexcept {
  const HeldBlocks held;
  OwnMemory* memory = memory_of(handle);
  if (!memory) return false;
  result = CUDA_ERROR_INVALID_VALUE;
  if (memory->references == 0) return true;
  auto* mapping = static_cast<OwnMapping*>(std::calloc(1, sizeof(OwnMapping)));
  const std::size_t place = place_of_mapping(at);
  const bool noted = mapping && mappings.insert(place, mapping);
  result = noted ? real().cuMemMap(at, bytes, offset, memory->real, flags) : CUDA_ERROR_OUT_OF_MEMORY;
  if (result == CUDA_SUCCESS) {
    *mapping = {at, bytes, offset, memory, memory->mappings, {}};
    memory->mappings = mapping;
    return true;
  }
  if (noted) mappings.remove(place);
  std::free(mapping);
  return true;
}

CUresult own_unmap(CUdeviceptr at, std::uint64_t bytes) noexcept {
  const HeldBlocks held;
  const CUresult result = real().cuMemUnmap(at, bytes);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t i = place_of_mapping(at); i < mappings.count() && mappings[i]->at < at + bytes;) {
    OwnMapping* mapping = mappings[i];
    mappings.remove(i);
    unlink(*mapping);
    static_cast<void>(end_if_unused(*mapping->memory));
    std::free(mapping);
  }
  if (!access_book.clear(at, bytes)) all_stay();
  return result;
}

CUresult own_set_access(CUdeviceptr at, std::uint64_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) noexcept {
  const HeldBlocks held;
  const CUresult result = real().cuMemSetAccess(at, bytes, access, count);
  if (result != CUDA_SUCCESS) return result;
  for (std::size_t i = 0; i < count; ++i)
    if (!access_book.set(at, bytes, access[i])) all_stay();
  return result;
}

CUmemGenericAllocationHandle own_real(CUmemGenericAllocationHandle handle) noexcept {
  const HeldBlocks held;
  const OwnMemory* memory = memory_of(handle);
  return memory ? memory->real : handle;
}

void own_stays(CUmemGenericAllocationHandle handle) noexcept {
  const HeldBlocks held;
  if (OwnMemory* memory = memory_of(handle)) stay(*memory);
}

void own_stays(CUdeviceptr at, std::uint64_t bytes) noexcept {
  const HeldBlocks held;
  each_mapping(at, bytes, [](const OwnMapping& each) { stay(*each.memory); });
}

unsigned long long own_id(CUdeviceptr address, CUpointer_attribute attribute) noexcept {
  const HeldBlocks held;
  const OwnMapping* mapping = mapping_at(address);
  for (std::size_t i = 0; mapping && i < std::size(kIds); ++i)
    if (kIds[i] == attribute) return mapping->ids[i];
  return 0;
}

bool take_own(Block& block) noexcept {
  OwnMemory& memory = *block.own;
  if (!block.there) return false;
  for (OwnMapping* each = memory.mappings; each; each = each->next) {
    keep_ids(*each);
    if (real().cuMemUnmap(each->at, each->bytes) == CUDA_SUCCESS) continue;
    for (const OwnMapping* done = memory.mappings; done != each; done = done->next)
      static_cast<void>(real().cuMemMap(done->at, done->bytes, done->offset, memory.real, 0));
    static_cast<void>(set_again([&](const OwnMemory& other) { return &other == &memory; }));
    return false;
  }
  static_cast<void>(real().cuMemRelease(memory.real));
  block.there = false;
  return true;
}

CUresult make_own(Block& block) noexcept {
  OwnMemory& memory = *block.own;
  CUresult result = real().cuMemCreate(&memory.real, memory.bytes, &memory.properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = map_all(memory);
  if (result != CUDA_SUCCESS) static_cast<void>(real().cuMemRelease(memory.real));
  block.there = result == CUDA_SUCCESS;
  return result;
}

CUresult restore_access() noexcept {
  const HeldBlocks held;
  return set_again([](const OwnMemory& memory) { return memory.block && memory.block->parked; });
}

bool open_window(Block& block) noexcept {
  const OwnMemory& memory = *block.own;
  for (const OwnMapping* each = memory.mappings; each; each = each->next)
    if (each->bytes == memory.bytes && access_book.is_writable(each->at, each->bytes, block.device)) {
      block.base = each->at;
      return true;
    }
  const auto& driver = real();
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, block.device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  block.base = 0;
  if (driver.cuMemAddressReserve(&block.base, memory.bytes, 0, 0, 0) != CUDA_SUCCESS) return false;
  if (driver.cuMemMap(block.base, memory.bytes, 0, memory.real, 0) == CUDA_SUCCESS) {
    if (driver.cuMemSetAccess(block.base, memory.bytes, &access, 1) == CUDA_SUCCESS) return true;
    static_cast<void>(driver.cuMemUnmap(block.base, memory.bytes));
  }
  static_cast<void>(driver.cuMemAddressFree(block.base, memory.bytes));
  block.base = 0;
  return false;
}

void close_window(Block& block) noexcept {
  if (block.base != 0 && !mapping_at(block.base)) {
    static_cast<void>(real().cuMemUnmap(block.base, block.bytes));
    static_cast<void>(real().cuMemAddressFree(block.base, block.bytes));
  }
  block.base = 0;
}

void forget_own_memory() noexcept {
  memories.forget();
  mappings.forget();
  access_book.forget();
}

}  // namespace cotenant
