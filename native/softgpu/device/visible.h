#pragma once
// CUDA_VISIBLE_DEVICES, as the driver reads it: numbers, or the UUIDs' beginnings (GPU-…), up to the first that names
// none. A negative number names none. Naming one twice leaves none at all.
#include <string>
#include <vector>

namespace cotenant::soft {

// The devices that a program sees, in its order; `uuids` are those of all. A null list: all of them.
std::vector<unsigned> visible_devices(const char* list, const std::vector<std::string>& uuids);

}  // namespace cotenant::soft
