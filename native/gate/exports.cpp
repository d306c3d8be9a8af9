// The gate as a C library for the model and the tests. Layouts: arrays of u32 / u64 in the order of the
// fields in gate.h and rules.h, so that the other side needs no C++ header.
#include <cstring>

#include "gate/gate.h"
#include "gate/histogram.h"

using namespace cotenant;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// What is ours to read is aligned, what a program of another language has may not be.
Rules rules_from(const void* settings) noexcept {
  alignas(protocol::Settings) unsigned char bytes[sizeof(protocol::Settings)];
  std::memcpy(bytes, settings, sizeof bytes);
  return read_rules(*reinterpret_cast<const protocol::Settings*>(bytes));
}

Seen seen_from(const std::uint64_t* s) noexcept {
  return Seen{s[0] != 0,
              s[1] != 0,
              static_cast<KernelClass>(s[2]),
              s[3],
              s[4] != 0,
              s[5],
              s[6],
              s[7],
              static_cast<std::uint32_t>(s[8]),
              static_cast<std::uint32_t>(s[9]),
              s[10],
              s[11],
              s[12],
              s[13] != 0,
              s[14] != 0};
}

Item item_from(const std::uint32_t* i) noexcept {
  return Item{i[0], i[1] != 0, static_cast<KernelClass>(i[2]), i[3], i[4] != 0};
}

}  // namespace

// `settings` is laid out as the shared struct, `seen` 15 u64, `item` 5 u32, `chunk` 2 u32.
EXPORT std::uint32_t cotenant_release(const void* settings, const std::uint64_t* seen) {
  return static_cast<std::uint32_t>(release(rules_from(settings), seen_from(seen)));
}

EXPORT std::uint32_t cotenant_admit(const void* settings, const std::uint64_t* seen, const std::uint32_t* item) {
  return static_cast<std::uint32_t>(admit(rules_from(settings), seen_from(seen), item_from(item)));
}

EXPORT std::uint64_t cotenant_spent_after(const void* settings, const std::uint64_t* seen, const std::uint32_t* item) {
  return spent_after(rules_from(settings), seen_from(seen), item_from(item));
}

EXPORT std::uint64_t cotenant_due_after(const void* settings, std::uint64_t due_ns, std::uint64_t now_ns) {
  return due_after(rules_from(settings), due_ns, now_ns);
}

EXPORT std::uint32_t cotenant_closes(const void* settings, const std::uint32_t* chunk, const std::uint32_t* item) {
  return closes(rules_from(settings), Chunk{chunk[0], chunk[1]}, item_from(item));
}

EXPORT std::uint32_t cotenant_bucket_of(std::uint64_t ns) { return bucket_of(ns); }
