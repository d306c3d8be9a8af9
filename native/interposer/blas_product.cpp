#include <algorithm>
#include <cstdio>

#include "interposer/blas.h"
#include "interposer/blas_parts.h"
#include "interposer/blas_pinned.h"
#include "interposer/capture.h"
#include "interposer/entry.h"
#include "interposer/function.h"
#include "interposer/gpu.h"
#include "interposer/process.h"

namespace cotenant {

__constinit thread_local ProductCall* product_call = nullptr;

bool note_product_launch(const Submission& submission) noexcept {
  ProductCall& call = *product_call;
  if (submission.kind == Submission::Kind::kCopy && submission.bus == Bus::kNone) {
    ++call.copies;
  } else if (submission.kind == Submission::Kind::kKernel && submission.shape && call.launches < ProductCall::kMost) {
    call.launched[call.launches++] = *submission.shape;
  } else {
    call.other = true;
    ++call.launches;
  }
  return call.asking;
}

namespace {

constexpr std::uint32_t kSamples = 2;  // before a product is believed to be long
constexpr std::uint32_t kMostParts = 64;
constexpr std::uint32_t kLooks = 24;  // at divisions, each of which asks the library twice
constexpr std::int64_t kWhole = -1;
constexpr std::uint64_t kOverheadNs = 4'000;  // what timing one launch adds to it
constexpr std::uint64_t kTooMuchPercent = 8;  // more than expected

// What the library would launch for one call.
struct Launched {
  std::uint32_t launches;
  std::uint32_t copies;
  LaunchShape of[ProductCall::kMost];
};

bool same_code(const LaunchShape& a, const LaunchShape& b) noexcept {
  // On blocks of the same size, with as much memory.
  return a.function == b.function && std::equal(a.of + 3, a.of + 7, b.of + 3);
}

// The same kernels on grids of the same size.
bool same_launches(const Launched& a, const Launched& b) noexcept {
  if (a.launches != b.launches || a.copies != b.copies) return false;
  for (std::uint32_t i = 0; i < a.launches; ++i)
    if (!same_code(a.of[i], b.of[i]) || !std::equal(a.of[i].of, a.of[i].of + 3, b.of[i].of)) return false;
  return true;
}

// The same kernels, on grids that differ in lines alone: their third side divides the sum, if anything does.
bool same_sums(const Launched& whole, const Launched& part, Lines lines) noexcept {
  if (whole.launches != part.launches || whole.copies != part.copies) return false;
  for (std::uint32_t i = 0; i < whole.launches; ++i) {
    if (!same_code(whole.of[i], part.of[i])) return false;
    if (lines != Lines::kMatrices && whole.of[i].of[2] != part.of[i].of[2]) return false;
  }
  return true;
}

// Has the whole's algorithm been found in cublasLt?
enum Search : int { kNotYet, kSearching, kPinned, kNotFound };

// What is known of one product.
struct Known {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::int64_t> count{0};  // lines of a part; 0: not decided; kWhole
  std::atomic<std::uint32_t> target_us{0};  // for which that was decided
  std::atomic<std::uint32_t> least_us{0};  // shorter parts cost too much
  std::atomic<std::uint32_t> expected_percent{100};  // all parts, of the whole
  std::atomic<int> search{kNotYet};
  LtAlgorithm algorithm;  // from kPinned on, and never changed
  Launched launched;      // the whole with it
  Estimate whole;
  Estimate part;
  Estimate last;
};

constexpr std::size_t kProducts = 512;  // a power of two
__constinit Known products[kProducts];

Known* known_of(std::uint64_t key) noexcept {
  auto at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ull) >> 55);
  for (std::size_t i = 0; i < kProducts / 2; ++i, at = (at + 1) % kProducts) {
    std::uint64_t known = products[at].key.load(std::memory_order_acquire);
    if (known == key) return &products[at];
    if (known != 0) continue;
    if (products[at].key.compare_exchange_strong(known, key, std::memory_order_acq_rel) || known == key)
      return &products[at];
  }
  return nullptr;
}

// GPU memory for one product in parts, in the order of its stream.
class Workspace {
 public:
  Workspace(const PinnedProduct& product, const LtAlgorithm& algorithm) noexcept {
    if (algorithm.workspace == 0) return;
    const auto& driver = real();
    ready_ = driver.cuMemAllocAsync && driver.cuMemFreeAsync && product.stream(stream_) &&
             driver.cuMemAllocAsync(&at_, algorithm.workspace, stream_) == cu::CUDA_SUCCESS;
  }
  ~Workspace() {
    if (at_) static_cast<void>(real().cuMemFreeAsync(at_, stream_));
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] std::uint64_t at() const noexcept { return at_; }

 private:
  cu::CUstream stream_{nullptr};
  cu::CUdeviceptr at_{0};
  bool ready_{true};
};

// Enough for being asked: nothing is launched.
constexpr std::uint64_t kNoMemory = 1u << 12;

// One product on its way to the library: as the program asks for it, or with an algorithm.
class Giving {
 public:
  Giving(const Product& what, GivePart part, const void* call) noexcept : product(what), part_(part), call_(call) {}

  void pin(const PinnedProduct& pinned, const LtAlgorithm& algorithm, std::uint64_t workspace) noexcept {
    pinned_ = &pinned;
    algorithm_ = &algorithm;
    workspace_ = workspace;
  }

  int run(std::int64_t first, std::int64_t count, Estimate* estimate) const noexcept {
    ProductCall noted{false};
    noted.estimate = estimate;
    return during(noted, first, count);
  }

  // What would be launched. False: the library can't, or it is more than can be compared.
  [[nodiscard]] bool ask(std::int64_t first, std::int64_t count, Launched& into) const noexcept {
    ProductCall noted{true};
    const int status = during(noted, first, count);
    into.launches = noted.launches;
    into.copies = noted.copies;
    std::copy(noted.launched, noted.launched + ProductCall::kMost, into.of);
    // Which of two kernels does what is known only if the algorithm is.
    const bool plain = noted.launches == 1 && noted.copies == 0;
    return status == 0 && noted.launches > 0 && !noted.other && (plain || pinned_ || product.pinned || count == product.count);
  }

  const Product& product;

 private:
  int during(ProductCall& noted, std::int64_t first, std::int64_t count) const noexcept {
    product_call = &noted;
    const int status = pinned_ ? pinned_->give(*algorithm_, workspace_, first, count) : part_(call_, first, count);
    product_call = nullptr;
    return status;
  }

  GivePart part_;
  const void* call_;
  const PinnedProduct* pinned_{nullptr};
  const LtAlgorithm* algorithm_{nullptr};
  std::uint64_t workspace_{0};
};

// Of the kernel that multiplies, which comes first.
std::uint64_t blocks_in(const Launched& launched) noexcept {
  const auto& of = launched.of[0].of;
  return std::uint64_t{of[0]} * of[1] * of[2];
}
std::uint64_t divisions_in(const Launched& launched) noexcept { return launched.of[0].of[2]; }

// Looks for the algorithm with which cublasLt launches what the library launches for the whole.
bool find_algorithm(Known& known, const Giving& giving, const PinnedProduct& pinned, const Launched& whole) noexcept {
  int search = kNotYet;
  if (!known.search.compare_exchange_strong(search, kSearching, std::memory_order_acq_rel)) return search == kPinned;
  LtAlgorithm all[PinnedProduct::kAlgorithms];
  const int count = pinned.algorithms(all);
  for (int i = 0; i < count; ++i) {
    Giving with = giving;
    with.pin(pinned, all[i], all[i].workspace ? kNoMemory : 0);
    Launched found{};
    if (!with.ask(0, giving.product.count, found) || !same_launches(whole, found)) continue;
    known.algorithm = all[i];
    known.launched = whole;
    known.search.store(kPinned, std::memory_order_release);
    return true;
  }
  known.search.store(kNotFound, std::memory_order_release);
  return false;
}

// Tiles of the result in so many lines.
std::uint64_t tiles_in(const Product& product, Tile tile, std::int64_t lines) noexcept {
  const auto fit = [](std::int64_t length, std::uint32_t side) { return static_cast<std::uint64_t>((length + side - 1) / side); };
  if (product.lines == Lines::kMatrices) return fit(product.across, tile.a * tile.b) * static_cast<std::uint64_t>(lines);
  const bool rows = product.lines == Lines::kRows;
  return fit(product.across, rows ? tile.b : tile.a) * fit(lines, rows ? tile.a : tile.b);
}

// What was found out about a product, for whoever asks with COTENANT_DEBUG.
void say(const Product& product, std::uint64_t us, const char* kernel, std::uint64_t waves, const Parts& parts, const char* whole) noexcept {
  if (!environment().debug) return;
  constexpr const char* kNames[] = {"columns", "rows", "matrices"};
  const char* what = kNames[static_cast<int>(product.lines)];
  char how[200];
  if (whole) std::snprintf(how, sizeof how, "whole: %s", whole);
  else std::snprintf(how, sizeof how, "in parts of %ld %s, %lu waves each, %lu instead of %lu together", parts.count, what,
                     parts.waves, parts.all_waves, waves);
  tell("product of %ld %s x %ld, depth %ld, %lu us, %.150s: %s", product.count, what, product.across, product.depth, us,
       kernel ? kernel : "?", how);
}

// The lines of a part, or kWhole.
std::int64_t divide(Known& known, const Giving& plain, const PinnedProduct* pinned, std::uint32_t sms, std::uint64_t us,
                    std::uint64_t target_us) noexcept {
  const Product& product = plain.product;
  const std::uint64_t least_us = known.least_us.load(std::memory_order_relaxed);
  Launched whole{}, one{}, rest{};
  if (sms == 0 || !plain.ask(0, product.count, whole)) {
    say(product, us, nullptr, 0, {}, "the library does not say what it would launch");
    return kWhole;
  }
  Giving giving = plain;
  const bool told = pinned && find_algorithm(known, plain, *pinned, whole);
  if (told) giving.pin(*pinned, known.algorithm, known.algorithm.workspace ? kNoMemory : 0);
  const char* const name = named_function(whole.of[0].function).name;
  const Tile tile = tile_in(name);
  bool same = false;
  Parts best{0, 0, 0};
  std::uint64_t waves = 0;
  auto pieces = static_cast<std::uint32_t>(std::min<std::uint64_t>(2 * us / target_us + 1, kMostParts));
  std::int64_t count = 0;
  for (std::uint32_t looks = 0; looks < kLooks; ++looks) {
    count = next_count(product.count, product.step, pieces, count);
    if (count == 0) break;
    const std::int64_t full = product.count / count;
    const std::int64_t left = product.count % count;
    if (!giving.ask(0, count, one) || !same_sums(whole, one, product.lines)) continue;
    if (left > 0 && (!giving.ask(full * count, left, rest) || !same_sums(whole, rest, product.lines))) continue;
    same = true;
    // A grid that is the same for less works through its tiles in a loop.
    const bool loops = blocks_in(one) == blocks_in(whole);
    if (loops && tile.a == 0) continue;
    const auto waves_in = [&](const Launched& launched, std::int64_t lines) {
      const std::uint64_t tiles = tile.a == 0 ? 0 : tiles_in(product, tile, lines);
      if (loops) return waves_of(tiles, sms);
      // Grids are rounded up so that neighbours share data; the blocks too many end at once.
      const bool rounded = tiles > 0 && product.lines != Lines::kMatrices;
      const std::uint64_t blocks = blocks_in(launched);
      return waves_of(rounded ? std::min(blocks, tiles * divisions_in(launched)) : blocks, sms);
    };
    waves = waves_in(whole, product.count);
    const std::uint64_t each = waves_in(one, count);
    const Parts parts{count, each, static_cast<std::uint64_t>(full) * each + (left > 0 ? waves_in(rest, left) : 0)};
    if (each * us < least_us * waves || !affordable(parts, waves, us, target_us)) continue;
    if (better(parts, best, waves, us, target_us)) best = parts;
  }
  // Little is won by parts that are nearly as long as the whole.
  const bool worth = best.count > 0 && best.waves * 4 <= waves * 3;
  char why[120];
  std::snprintf(why, sizeof why, "%s (%u kernels, %u fills, %s)", same ? "its waves can't be divided" : "parts would get other kernels",
                whole.launches, whole.copies, told ? "algorithm known" : "algorithm not found");
  say(product, us, name, waves, best, worth ? nullptr : why);
  if (worth) known.expected_percent.store(static_cast<std::uint32_t>(best.all_waves * 100 / waves), std::memory_order_relaxed);
  return worth ? best.count : kWhole;
}

void forget(Estimate& estimate, std::uint32_t expected_ns) noexcept {
  estimate.sightings.store(0, std::memory_order_relaxed);
  estimate.samples.store(0, std::memory_order_relaxed);
  estimate.typical_ns.store(expected_ns, std::memory_order_relaxed);
  estimate.expected_ns.store(expected_ns, std::memory_order_relaxed);
}

std::uint32_t typical(const Estimate& estimate) noexcept {
  return estimate.samples.load(std::memory_order_relaxed) >= kSamples ? estimate.typical_ns.load(std::memory_order_relaxed) : 0;
}

// Parts that turn out to take clearly longer together than the whole did are made longer.
void judge(Known& known, std::int64_t lines, std::int64_t count) noexcept {
  const auto full = static_cast<std::uint64_t>(lines / count);
  const bool rest = lines % count > 0;
  const std::uint64_t part = typical(known.part);
  const std::uint64_t last = rest ? typical(known.last) : 0;
  if (part == 0 || (rest && last == 0)) return;
  const std::uint64_t percent = known.expected_percent.load(std::memory_order_relaxed) + kTooMuchPercent;
  const std::uint64_t allowed = typical(known.whole) * percent / 100 + (full + 1) * kOverheadNs;
  if (full * part + last <= allowed) return;
  known.least_us.store(static_cast<std::uint32_t>(part * 3 / 2000), std::memory_order_relaxed);
  known.count.store(0, std::memory_order_relaxed);
}

// How many lines a part has now; kWhole: not in parts.
std::int64_t part_lines(Known& known, const Giving& giving, const PinnedProduct* pinned, const Gpu& gpu,
                        std::uint32_t target_us) noexcept {
  const std::uint64_t us = typical(known.whole) / 1000;
  if (us * 4 <= std::uint64_t{target_us} * 5) return kWhole;
  if (known.target_us.exchange(target_us, std::memory_order_relaxed) != target_us) {
    known.least_us.store(0, std::memory_order_relaxed);
    known.count.store(0, std::memory_order_relaxed);
  }
  std::int64_t count = known.count.load(std::memory_order_relaxed);
  if (count != 0) return count;
  count = divide(known, giving, pinned, gpu.identity.sm_count, us, target_us);
  if (count != kWhole) {
    const auto share = [&](std::int64_t lines) {
      return static_cast<std::uint32_t>(us * 1000 * static_cast<std::uint64_t>(lines) / static_cast<std::uint64_t>(giving.product.count)) + 1;
    };
    forget(known.part, share(count));
    forget(known.last, share(giving.product.count % count));
  }
  known.count.store(count, std::memory_order_relaxed);
  return count;
}

// Would the library launch now what it did when the product was divided? The handle, its mode and its workspace may be
// others. With an algorithm the parts follow from the whole; else the library chooses for them, too.
bool as_known(const Known& known, const Giving& plain, bool told, std::int64_t count) noexcept {
  const Product& product = plain.product;
  const std::int64_t left = product.count % count;
  Launched whole{}, part{};
  if (!plain.ask(0, product.count, whole)) return false;
  if (told) return same_launches(known.launched, whole);
  return plain.ask(0, count, part) && same_sums(whole, part, product.lines) &&
         (left == 0 || (plain.ask(product.count - left, left, part) && same_sums(whole, part, product.lines)));
}

}  // namespace

int give_product(const Product& product, GivePart part, const void* call, const PinnedProduct* pinned) noexcept {
  Gpu* gpu = gpu_count() > 0 ? &gpu_at(0) : nullptr;
  const Link* link = gpu ? gpu->link.load(std::memory_order_acquire) : nullptr;
  // A product inside another is a part of the library's own way to do it.
  if (!link || product_call || captures_open()) return part(call, 0, product.count);
  const auto& settings = link->region->settings;
  const Rules rules = read_rules(settings);
  Known* known = rules.split_products_us > 0 ? known_of(product.key) : nullptr;
  if (!known) return part(call, 0, product.count);
  const Giving plain(product, part, call);
  const auto whole = [&] { return plain.run(0, product.count, &known->whole); };
  const bool gated = rules.paused || (rules.protect && link->region->activity.registered.load(std::memory_order_relaxed) != 0);
  const std::int64_t count = gated ? part_lines(*known, plain, pinned, *gpu, rules.split_products_us) : kWhole;
  if (count == kWhole || count >= product.count) return whole();

  const bool told = pinned && known->search.load(std::memory_order_acquire) == kPinned;
  if (!as_known(*known, plain, told, count)) return whole();
  const auto in_parts = [&](const Giving& giving) {
    for (std::int64_t first = 0; first < product.count; first += count) {
      const std::int64_t lines = std::min(count, product.count - first);
      const int status = giving.run(first, lines, lines == count ? &known->part : &known->last);
      if (status != 0) return status;
    }
    link->best_effort().splitProducts.fetch_add(1, std::memory_order_relaxed);
    judge(*known, product.count, count);
    return 0;
  };
  if (!told) return in_parts(plain);
  const Workspace workspace(*pinned, known->algorithm);
  if (!workspace.ready()) return whole();
  Giving giving = plain;
  giving.pin(*pinned, known->algorithm, workspace.at());
  return in_parts(giving);
}

}  // namespace cotenant
