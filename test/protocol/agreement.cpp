// Prints what the C++ side makes of the shared layout, one field a line: struct, field, offset, size.
// With a file: reads the words of a Region from it and prints what it finds in a few fields.
#include <cstdio>
#include <cstring>

#include "generated/protocol.h"

using namespace cotenant::protocol;

namespace {

#define FIELD(type, member) {#type, #member, offsetof(type, member), sizeof(type::member)},
constexpr struct {
  const char* type;
  const char* member;
  std::size_t offset;
  std::size_t size;
} kFields[] = {
#include "generated/fields.def"
};

alignas(4096) unsigned char memory[sizeof(Region)];

int read_back(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (!file || std::fread(memory, 1, sizeof memory, file) != sizeof memory) return 1;
  std::fclose(file);
  const auto& region = *reinterpret_cast<const Region*>(memory);
  std::printf("{\"magic\":\"%llx\",\"version\":%u,\"size\":%u,\"chunkUs\":%u,\"turn\":%u,\"hold7\":%u,",
              static_cast<unsigned long long>(region.header.magic.load()), region.header.version.load(),
              region.header.size.load(), region.settings.chunkUs.load(), region.roster.turn.load(),
              region.holds[7].word.load());
  std::printf("\"name\":\"%s\",\"bursts\":%llu,\"lastBucket\":%u,\"memoryQuota\":%llu}\n", region.header.gpuName,
              static_cast<unsigned long long>(region.high[31].bursts.load()),
              region.high[31].histogram[OCTAVES * BUCKETS_PER_OCTAVE - 1].load(),
              static_cast<unsigned long long>(region.bestEffort[7].memoryQuota.load()));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return read_back(arguments[1]);
  std::printf("[");
  const char* separator = "";
  for (const auto& field : kFields) {
    std::printf("%s{\"struct\":\"%s\",\"field\":\"%s\",\"offset\":%zu,\"size\":%zu}\n", separator, field.type,
                field.member, field.offset, field.size);
    separator = ",";
  }
  std::printf("]\n");
}
