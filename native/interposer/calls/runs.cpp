#include "interposer/calls/runs.h"

#include <algorithm>

#include "interposer/calls/memory.h"

namespace cotenant::batch {
namespace {

using cu::CUDA_MEMCPY3D_BATCH_OP;
using cu::CUmemcpy3DOperand;

Bus between(bool to_host, bool from_host) noexcept {
  return to_host == from_host ? Bus::kNone : to_host ? Bus::kOut : Bus::kIn;
}

bool in_array(const CUmemcpy3DOperand& operand) noexcept { return operand.type == cu::CU_MEMCPY_OPERAND_TYPE_ARRAY; }

bool on_host(const CUmemcpy3DOperand& operand) noexcept {
  return !in_array(operand) && copy::is_host(operand.op.ptr.ptr);
}

// Bytes of an array's element; 1 for pointers, whose extent is in bytes.
std::uint64_t element_bytes(const CUmemcpy3DOperand& operand) noexcept {
  cu::CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  if (!in_array(operand) || !real().cuArray3DGetDescriptor_v2 ||
      real().cuArray3DGetDescriptor_v2(&descriptor, operand.op.array.array) != cu::CUDA_SUCCESS)
    return 1;
  return array_bytes(descriptor.Format, descriptor.NumChannels, 1, 1, 1);
}

}  // namespace

// A call with copies in both directions counts as one to the GPU, because such copies wait for more.
Bus bus_of(const cu::CUdeviceptr* to, const cu::CUdeviceptr* from, std::size_t count) noexcept {
  Bus all = Bus::kNone;
  if (role() != Role::kBestEffort) return all;
  for (std::size_t i = 0; i < count && all != Bus::kIn; ++i)
    if (const Bus one = between(copy::is_host(to[i]), copy::is_host(from[i])); one != Bus::kNone) all = one;
  return all;
}

Bus bus_of(const CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept {
  Bus all = Bus::kNone;
  if (role() != Role::kBestEffort) return all;
  for (std::size_t i = 0; i < count && all != Bus::kIn; ++i)
    if (const Bus one = between(on_host(operations[i].dst), on_host(operations[i].src)); one != Bus::kNone) all = one;
  return all;
}

std::uint64_t bytes_in(const CUDA_MEMCPY3D_BATCH_OP& operation) noexcept {
  const auto& extent = operation.extent;
  return std::max(element_bytes(operation.src), element_bytes(operation.dst)) * extent.width * extent.height *
         extent.depth;
}

Bus bus_to(const cu::CUmemLocation& location) noexcept {
  return location.type == cu::CU_MEM_LOCATION_TYPE_DEVICE ? Bus::kIn : Bus::kOut;
}

Bus bus_to(cu::CUdevice device) noexcept { return device >= 0 ? Bus::kIn : Bus::kOut; }  // -1 is the host

}  // namespace cotenant::batch
