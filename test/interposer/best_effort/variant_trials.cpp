// Which variant of a long kernel is tried next, and which one is chosen.
#include "interposer/kernels/variant_trials.cpp"

#include "../harness.h"

using namespace harness;

namespace {

using cotenant::choose_variant;
using cotenant::kVariantKinds;
using cotenant::Tried;
using cotenant::VariantKind;
using cotenant::VariantTrial;

// All workers stop after a tenth of the kernel's time, half of them after a twentieth, slices after a fifth.
VariantKind chosen(std::uint64_t all, std::uint64_t half, std::uint64_t slices, std::uint64_t own,
                   std::uint64_t target) {
  const Tried tried[kVariantKinds] = {{all, 10}, {half, 20}, {slices, 5}, {own, 0}};
  return choose_variant(tried, target);
}

void variants_are_chosen_by_time() {
  expect(chosen(1060, 1090, 1030, 1000, 300) == VariantKind::kSlices, "the fastest, if all stop in time");
  expect(chosen(1020, 1060, 1090, 1000, 300) == VariantKind::kAllWorkers, "whichever that is");
  expect(chosen(1050, 1060, 1090, 1000, 300) == VariantKind::kHalfWorkers, "of two as fast the one that stops sooner");
  expect(chosen(1060, 1090, 1030, 1000, 110) == VariantKind::kAllWorkers, "the fastest of those that stop in time");
  expect(chosen(1050, 1090, 1020, 1000, 10) == VariantKind::kHalfWorkers, "that which stops soonest, if none does");
  expect(chosen(1050, 1900, 1020, 1000, 10) == VariantKind::kAllWorkers,
         "but none that takes much longer than the kernel");
  expect(chosen(1900, 1900, 1900, 1000, 10) == VariantKind::kAsItIs, "if all do, the kernel as it is");
  expect(chosen(0, 0, 0, 1000, 10) == VariantKind::kAsItIs, "so while nothing is known");
  expect(chosen(0, 1050, 0, 1000, 10) == VariantKind::kHalfWorkers, "of those that were measured");
  const Tried none[kVariantKinds] = {{1000, 0}, {1000, 0}, {1010, 4}, {1000, 0}};
  expect(choose_variant(none, 10) == VariantKind::kSlices, "of those that there are");
}

void variants_are_tried_in_turn() {
  static VariantTrial trial;
  Tried tried[kVariantKinds] = {{0, 10}, {0, 0}, {0, 5}, {0, 0}};
  bool trying = false;
  std::uint64_t usual_ns = 1000;
  std::uint64_t now_ns = 1;
  const auto next = [&] {
    const VariantKind kind = cotenant::next_variant(trial, tried, 10, usual_ns, now_ns, trying);
    if (!trying) trial.chosen = static_cast<int>(kind) + 1;
    return kind;
  };
  int of[kVariantKinds] = {};
  for (int i = 0; i < 12; ++i) ++of[static_cast<int>(next())];
  expect(trying && of[0] >= 3 && of[1] == 0 && of[2] >= 3 && of[3] >= 3, "each of those that there are");
  for (auto& one : trial.of) {
    one.samples = 3;
    for (int i = 0; i < 3; ++i) one.recent_ns[i] = i == 1 ? 1000 : 5000;
  }
  expect(next() == VariantKind::kAllWorkers && !trying, "until all were measured; the shortest time counts");
  for (int i = 0; i < 300; ++i) static_cast<void>(next());
  expect(!trying, "that was it");
  now_ns += 2'000'000'000;
  static_cast<void>(next());
  expect(trying, "but for one more sample of each after a second");
  for (auto& one : trial.of) one.recent_ns[3] = &one == &trial.of[2] ? 400 : 5000, one.samples = 4;
  expect(next() == VariantKind::kSlices && !trying, "which may tell something else");
  now_ns += 1'500'000'000;
  static_cast<void>(next());
  expect(!trying, "and then not for two seconds");
  for (int i = 0; i < 300; ++i) static_cast<void>(next());
  usual_ns = 5000;
  static_cast<void>(next());
  expect(trying, "until launches take much longer, with other data");
  for (int i = 0; i < 100; ++i) static_cast<void>(next());
  expect(!trying, "if nothing can be measured, not for ever");
}

constexpr Case kCases[] = {
    {"the variant that is fast and stops in time", variants_are_chosen_by_time},
    {"variants are tried in turn", variants_are_tried_in_turn},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
