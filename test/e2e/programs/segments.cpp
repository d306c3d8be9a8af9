// A program whose memory grows as PyTorch's expandable segments do: it maps so many MiB in pieces of 20 MiB, writes a
// pattern into them and launches every 20 ms, until a file appears; then it reads the pattern back. Says what it does on
// stderr.
//   segments MIB FILE
#include "../../interposer/movable/mappings.h"

using namespace harness;

namespace {

constexpr std::size_t kPiece = std::size_t{20} << 20;

std::vector<unsigned> pattern(std::size_t piece) {
  std::vector<unsigned> words(kPiece / 4);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = unsigned((piece * words.size() + i) * 2654435761u);
  return words;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::size_t pieces = std::strtoull(arguments[1], nullptr, 10) / 20;
  const Program program;
  const CUstream stream = make_stream();
  const CUdeviceptr range = reserve(2 * pieces * kPiece);
  for (std::size_t i = 0; i < pieces; ++i) {
    const CUdeviceptr at = range + i * kPiece;
    OK(cuda().cuMemMap(at, kPiece, 0, make(kPiece, exportable()), 0));
    allow(at, kPiece);
    OK(cuda().cuMemcpyHtoD_v2(at, pattern(i).data(), kPiece));
  }
  std::fprintf(stderr, "allocated\n");
  while (access(arguments[2], F_OK) != 0) {
    program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
    sleep_ms(20);
  }
  bool intact = true;
  for (std::size_t i = 0; i < pieces; ++i) {
    std::vector<unsigned> seen(kPiece / 4);
    OK(cuda().cuMemcpyDtoH_v2(seen.data(), range + i * kPiece, kPiece));
    intact = intact && seen == pattern(i);
  }
  std::fprintf(stderr, intact ? "intact\n" : "WRONG\n");
}
