#pragma once
// The little of PTX that the software GPU reads: names and parameters of entries, global variables, and one comment
// of its own. Nothing is executed; the comment on the lines just before an entry says what a launch costs and does:
//
//   //! soft ns=EXPR [sms=EXPR] [effect=NAME(p0, p1, ...)] [meets=pK]
//   .visible .entry scale(.param .u64 data, .param .u32 n)
//
// EXPR is an integer, pK (the K-th parameter, from 0), or pK*INT, pK/INT, pK*INT/INT. `ns` is the duration on `sms`
// SMs (default: the number of blocks, at most all SMs). Arguments of effects are EXPRs:
//   store(p, v)    *p = v, 32 bits          add(p, v)     *p += v, 32 bits, atomically
//   fill(p, n, v)  n 32-bit words of v      fma(p, n, a)  n floats: p[i] = p[i] * a + 1
// They take place when the kernel finishes. Without the comment: 10 us and no effect. `meets` is the address of a
// Meeting (meeting.h): the kernel waits on its SMs for kernels of other devices.
//
// An entry whose name ends in __cotenant_preempt can stop inside: its last six parameters are those of src/ptx's pass of
// that name (control, flag, the grid's three sides, epoch). It takes as much of its time as blocks are left to do, and
// ends early, at a block's end, when the flag is up. One whose name ends in __cotenant_slice (first block and the grid's
// three sides) takes the part of its time that its blocks are of the grid's, and has its effect with the last of them.
// Without a comment of its own it is as the entry without the ending,
// in whatever module that is.
#include <string>
#include <vector>

#include "driver/abi.h"

namespace cotenant::soft::ptx {

struct Expression {
  int parameter = -1;  // -1: a plain number
  std::uint64_t times = 0;  // the number itself if plain
  std::uint64_t over = 1;
};

struct Parameter {
  std::size_t offset;
  std::size_t size;
};

constexpr std::uint64_t kPlainNs = 10'000;  // of a kernel without the comment

struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  unsigned max_threads = 1024;
  unsigned registers = 32;  // a thread
  std::size_t shared_bytes = 0;
  Expression duration{-1, kPlainNs, 1};
  Expression sms;
  bool has_sms = false;
  std::string effect;  // empty: none
  std::vector<Expression> effect_arguments;
  Expression meets;
  bool has_meets = false;
  bool described = false;  // by a comment
  bool resumable = false;
  bool sliced = false;
};

struct Global {
  std::string name;
  std::size_t size;
  std::vector<unsigned char> initial;  // its first bytes; the others are 0
};

struct Program {
  std::vector<Entry> entries;
  std::vector<Global> globals;
  unsigned version = 80;  // 10 * major + minor
  unsigned target = 90;
};

// CUDA_ERROR_NO_BINARY_FOR_GPU for machine code, CUDA_ERROR_INVALID_PTX for what looks like PTX and is not.
cu::CUresult parse(const char* image, Program& out);

}  // namespace cotenant::soft::ptx
