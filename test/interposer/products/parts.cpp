// How long products are divided: the arithmetic alone, on the products of GPT-2's last layer on an H200 (132 SMs).
#include "gate/parts.cpp"
#include "interposer/base/backoff.h"

#include <vector>

#include "../harness.h"

using namespace cotenant;
using harness::Case;
using harness::expect;

namespace {

constexpr std::uint32_t kSms = 132;

std::vector<std::int64_t> counts(std::int64_t columns, std::int64_t step, std::uint32_t pieces) {
  std::vector<std::int64_t> all;
  for (std::int64_t count = 0; (count = next_count(columns, step, pieces, count)) != 0;) all.push_back(count);
  return all;
}

void divisions_grow() {
  const std::vector<std::int64_t> all = counts(4096, 128, 16);
  expect(all.front() == 256 && all.back() == 2048, "from sixteen parts to two");
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect(all[i] % 128 == 0 && all[i] < 4096, "each a multiple of the step, and less than all");
    expect(i == 0 || all[i] > all[i - 1], "each larger than the one before");
  }
  expect(counts(128, 128, 16).empty(), "one step can't be divided");
  expect(counts(7, 1, 3) == std::vector<std::int64_t>({3, 4}), "seven matrices in three or two");
}

void a_begun_wave_is_a_wave() {
  expect(waves_of(132, kSms) == 1 && waves_of(133, kSms) == 2 && waves_of(0, kSms) == 0, "waves are rounded up");
}

// 393 x 32 tiles, 96 waves, 5.4 ms: each two columns of tiles are 5.95 waves.
void short_parts_first_then_few_waves() {
  const Parts sixteen{256, 16, 6, 96};
  const Parts eight{512, 8, 12, 96};
  const Parts uneven{384, 11, 9, 99};
  expect(is_better(sixteen, eight, 96, 5400, 300), "parts of 340 us are better than of 680 us");
  expect(is_better(eight, sixteen, 96, 5400, 600), "but where both are short enough, few are better");
  expect(is_better(eight, uneven, 96, 5400, 600), "and what wastes no wave");
  expect(is_better(uneven, Parts{}, 96, 5400, 300), "anything is better than nothing");
}

void more_waves_are_worth_little() {
  expect(is_affordable({1, 16, 1, 16}, 15, 3000, 200), "16 waves for 15");
  expect(!is_affordable({1, 13, 1, 13}, 12, 3000, 200), "but not 13 for 12");
  expect(is_affordable({1, 6, 1, 6}, 5, 3800, 200), "6 for 5 where each takes 760 us");
  expect(!is_affordable({1, 7, 1, 7}, 5, 3800, 200), "but not 7");
}

void refusals_hold_longer_and_longer() {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  expect(holds_for_ns(0) == kSecond && holds_for_ns(3) == 8 * kSecond, "a second, then twice as long each time");
  expect(holds_for_ns(10) == 600 * kSecond && holds_for_ns(~0u) == 600 * kSecond, "ten minutes at most");
}

void the_side_that_reads_less() {
  // Bytes of each factor for a term of the sum: GPT-2's last layer, forward and its two gradients; BERT's.
  expect(!columns_before_rows(50257 * 2, 4096 * 2, true), "rows: parts of columns would read 128 MB each");
  expect(columns_before_rows(1280 * 2, 50257 * 2, true) && columns_before_rows(1280 * 2, 4096 * 2, true), "columns");
  expect(columns_before_rows(4096 * 4, 3072 * 4, true), "columns, where it is about the same");
  expect(!columns_before_rows(1, 100, false), "but not where there are few");
}

void tiles_in_names() {
  const auto is = [](const char* name, std::uint32_t a, std::uint32_t b) {
    const Tile tile = tile_in(name);
    return tile.a == a && tile.b == b;
  };
  expect(is("_ZN7cutlass7Kernel2I55cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1EEvNT_6ParamsE", 128, 128),
         "CUTLASS's");
  expect(is("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4", 64, 64),
         "XMMA's");
  expect(is("nvjet_tst_192x128_64x5_1x2_h_bz_coopB_TNT", 192, 128), "NVJET's");
  expect(is("cutlass_80_simt_sgemm_128x256_8x4_nt_align1", 128, 256), "not the stages");
  expect(is("volta_something_4x8", 0, 0) && is("", 0, 0) && is(nullptr, 0, 0) && is("99999999999x1", 0, 0), "or none");
}

constexpr Case kCases[] = {
    {"the side whose parts read less", the_side_that_reads_less},
    {"refusals hold longer and longer", refusals_hold_longer_and_longer},
    {"divisions grow from many parts to two", divisions_grow},
    {"a wave that is begun counts", a_begun_wave_is_a_wave},
    {"short parts first, then few waves", short_parts_first_then_few_waves},
    {"more waves are worth little", more_waves_are_worth_little},
    {"tiles are read from the names of kernels", tiles_in_names},
};

}  // namespace

int main(int count, char** arguments) { return harness::run_case(kCases, count, arguments); }
