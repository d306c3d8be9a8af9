#pragma once
// Code as a program hands it to the driver: PTX text, a cubin (machine code in an ELF file), or a container of several of
// both, a fat binary. Of a cubin its kernels, their parameters and needs, and its variables are read; nothing is executed.
#include "softgpu/ptx/ptx.h"

namespace cotenant::soft::image {

// Reads the code for a device of `capability` (10 * major + minor) out of `image`, as the driver would choose it.
cu::CUresult read(const void* image, unsigned capability, ptx::Program& out);

// A cubin. `size` is what is known to be readable.
cu::CUresult read_cubin(const unsigned char* elf, std::size_t size, ptx::Program& out);
// Its size, from its headers; 0: it is none.
std::size_t cubin_size(const void* elf);

// Expands what a container holds compressed; false: it is damaged, or its format is not known.
enum class Packing { lz4, zstd };
bool unpack(Packing packing, const unsigned char* from, std::size_t size, std::vector<unsigned char>& to);

}  // namespace cotenant::soft::image
