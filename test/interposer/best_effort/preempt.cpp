// Long kernels whose PTX is known: made so that they can stop inside, and then stopped by a request.
#include "../fixture.h"
#include "interposer/kernels/variant_trials.cpp"

using namespace harness;

namespace {

// The forms of the kernel below that can stop inside, as the software GPU takes them; the agent's have bodies.
constexpr const char* kSlice = R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count__cotenant_slice(.param .u64 at, .param .u32 value, .param .u64 ns, .param .u32 first_x,
  .param .u32 first_y, .param .u32 first_z, .param .u32 x, .param .u32 y, .param .u32 z) { ret; }
)";
constexpr const char* kForm = R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count__cotenant_preempt(.param .u64 at, .param .u32 value, .param .u64 ns, .param .u64 control,
  .param .u64 flag, .param .u32 x, .param .u32 y, .param .u32 z, .param .u32 epoch) { ret; }
)";

const std::string kVariants = kPtxHead + kForm;

const std::string kCount = kPtxHead + R"(
//! soft ns=p2 effect=add(p0, p1)
.visible .entry count(.param .u64 at, .param .u32 value, .param .u64 ns)
{
  .reg .pred %p;
  .reg .b32 %block, %blocks, %y, %thread, %value;
  .reg .b64 %now, %until, %at;
  // On a real GPU 2,112 such blocks run at once: the time is for all of 10,000.
  ld.param.u64 %until, [ns];
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mul.lo.u32 %blocks, %blocks, %y;
  setp.lt.u32 %p, %blocks, 10000;
  @%p bra WHOLE;
  div.u64 %until, %until, 5;
WHOLE:
)" + kPtxWait + R"(
  // The last block adds: it is there only when all have begun.
  mov.u32 %block, %ctaid.x;
  mov.u32 %y, %nctaid.x;
  mov.u32 %thread, %ctaid.y;
  mad.lo.u32 %block, %thread, %y, %block;
  add.u32 %block, %block, 1;
  setp.ne.u32 %p, %block, %blocks;
  @%p ret;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p ret;
  ld.param.u64 %at, [at];
  ld.param.u32 %value, [value];
  red.relaxed.sys.add.u32 [%at], %value;
  ret;
}
)";

// One kernel of 20 ms on 10,000 blocks that adds to a word when it is done.
struct Long {
  static constexpr std::uint64_t kUs = 20'000;
  BestEffort client;
  CUstream stream = make_stream();
  Word word;
  CUmodule module = nullptr;
  CUfunction count = nullptr;

  explicit Long(const std::string& variants = kVariants) {
    client.agent.variant = variants;
    OK(cuda().cuModuleLoadData(&module, kCount.c_str()));
    OK(cuda().cuModuleGetFunction(&count, module, "count"));
  }

  void launch(unsigned value = 1) {
    CUdeviceptr at = word.device;
    std::uint64_t ns = kUs * 1000;
    void* parameters[] = {&at, &value, &ns};
    OK(cuda().cuLaunchKernel(count, 100, 100, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  void run() {
    launch();
    OK(cuda().cuStreamSynchronize(stream));
  }
  // Until it is known which form suits it.
  void try_all() {
    for (int i = 0; i < 16; ++i) run();
  }
  // Until it is known to be long, and its variant is there, or has been refused.
  void learn() {
    for (int i = 0; i < 6; ++i) run();
    eventually([&] { return client.agent.asked.load() > 0; }, "the agent is asked for a variant");
    if (!client.agent.variant.empty())
      eventually([&] { return client.slot().variants.load() == 1; }, "there is a variant");
    try_all();
    *word.host = 0;
  }
};

void a_request_stops(Long& it) {
  it.launch();
  sleep_ms(8);
  it.client.request_begins();
  sleep_ms(60);
  expect(*it.word.host == 0, "it has stopped before its end");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "it goes on, and is done once");
  expect(it.client.slot().preemptible.load() >= 1, "it is counted");
}

void a_request_stops_a_long_kernel() {
  Long it;
  it.learn();
  expect(it.client.agent.asked_for == "count", "it is asked for by its name");
  expect(it.client.agent.asked_with.find(".entry count(") != std::string::npos, "with the PTX it came from");
  a_request_stops(it);
}

// It would stop inside, where nobody sees it stand. (Between slices it may stand: there is a border.)
void a_time_slice_is_not_begun_anew_inside() {
  setenv("COTENANT_TEST_FORM", "preempt", 1);
  Long it;
  it.learn();
  it.client.agent.region().settings.renewUs = 1'000;
  it.launch();
  const auto& hold = it.client.agent.region().holds.hold[0];
  int stood = 0;
  for (bool before = false; *it.word.host == 0;) {
    const bool now = hold.load() != 0;
    stood += now && !before;
    before = now;
  }
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(stood <= 1, "its 20 ms are not interrupted " + std::to_string(stood) + " times");  // once, as it is submitted
}

void slices_stop_between_each_other() {
  setenv("COTENANT_TEST_FORM", "slice", 1);
  Long it(kPtxHead + kSlice);
  it.learn();
  a_request_stops(it);
}

void it_ends_however_often_it_is_stopped() {
  Long it;
  it.learn();
  it.launch();
  for (int i = 0; i < 5; ++i) {
    sleep_ms(3);
    it.client.request_begins();
    sleep_ms(3);
    it.client.request_ends();
  }
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "done once, whatever the requests");
}

void many_in_a_row() {
  Long it;
  it.learn();
  std::thread requests([&] {
    for (int i = 0; i < 20; ++i) {
      sleep_ms(4);
      it.client.request_begins();
      sleep_ms(2);
      it.client.request_ends();
    }
  });
  for (unsigned i = 1; i <= 8; ++i) it.launch(i);
  OK(cuda().cuStreamSynchronize(it.stream));
  requests.join();
  expect(*it.word.host == 36, "each of them once");
}

void parameters_in_one_buffer() {
  Long it;
  it.learn();
  struct {
    CUdeviceptr at;
    unsigned value;
    std::uint64_t ns;
  } packed{it.word.device, 5, Long::kUs * 1000};
  std::size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), &packed,
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size, reinterpret_cast<void*>(kLaunchParamEnd)};
  const std::uint64_t before = it.client.slot().preemptible.load();
  OK(cuda().cuLaunchKernel(it.count, 100, 100, 1, 128, 1, 1, 0, it.stream, nullptr, extra));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 5, "they arrive");
  expect(it.client.slot().preemptible.load() == before + 1, "in a form that can stop");
}

// A grid that is on the GPU all at once gains nothing; a cooperative one needs all its blocks at once.
void what_runs_as_it_is() {
  Long it;
  it.learn();
  const std::uint64_t before = it.client.slot().preemptible.load();
  CUdeviceptr at = it.word.device;
  unsigned value = 1;
  std::uint64_t ns = Long::kUs * 1000;
  void* parameters[] = {&at, &value, &ns};
  OK(cuda().cuLaunchKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters, nullptr));
  OK(cuda().cuLaunchCooperativeKernel(it.count, 132, 1, 1, 128, 1, 1, 0, it.stream, parameters));
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 2, "both are done");
  expect(it.client.slot().preemptible.load() == before, "as they are");
}

void no_variant_is_no_harm() {
  Long it("");
  it.learn();
  it.run();
  it.run();
  expect(*it.word.host == 2, "the kernel runs as it is");
  expect(it.client.agent.asked.load() == 1, "and the agent is asked once");
}

void a_bad_variant_is_no_harm() {
  Long it(".version 7.8\n.target sm_70\n.visible .entry other() { ret; }");
  for (int i = 0; i < 6; ++i) it.run();
  eventually([&] { return it.client.agent.asked.load() > 0; }, "the agent is asked for a variant");
  sleep_ms(50);
  *it.word.host = 0;
  it.run();
  expect(*it.word.host == 1 && it.client.slot().variants.load() == 0, "the kernel runs as it is");
}

// The software GPU refuses a module with a directive that it does not know.
std::string refused(std::string form) { return form.replace(form.find("effect="), 7, "nonsense="); }

void a_refused_form_costs_only_itself() {
  Long it(kPtxHead + refused(kSlice) + kForm);
  it.learn();
  a_request_stops(it);
}

void a_refused_form_leaves_the_slices() {
  Long it(kPtxHead + kSlice + refused(kForm));
  it.learn();
  expect(it.client.slot().preemptible.load() > 0, "they are launched");
  it.run();
  expect(*it.word.host == 1, "and do all of the kernel once");
}

void an_unloaded_module_takes_its_variants_along() {
  Long it;
  it.learn();
  OK(cuda().cuModuleUnload(it.module));
  OK(cuda().cuModuleLoadData(&it.module, kCount.c_str()));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  const std::uint64_t before = it.client.slot().preemptible.load();
  for (int i = 0; i < 6; ++i) it.run();
  expect(*it.word.host == 6, "the new module's kernel runs");
  eventually([&] { return it.client.agent.asked.load() == 2; }, "and is asked for anew");
  eventually([&] { return it.client.slot().variants.load() == 2; }, "and has a variant of its own");
  it.run();
  expect(it.client.slot().preemptible.load() > before, "which is used");
}

// As bin/cotenant-ptxas puts them there.
void a_variant_in_the_programs_own_module() {
  Long it;
  OK(cuda().cuModuleLoadData(&it.module, Agent::formed(kCount, kCount + kForm).c_str()));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  for (int i = 0; i < 6; ++i) it.run();
  it.try_all();
  *it.word.host = 0;
  expect(it.client.agent.asked.load() == 0, "nobody is asked");
  expect(it.client.slot().variants.load() == 1, "it has been found");
  it.launch();
  sleep_ms(8);
  it.client.request_begins();
  sleep_ms(60);
  expect(*it.word.host == 0, "the kernel stops before its end");
  it.client.request_ends();
  OK(cuda().cuStreamSynchronize(it.stream));
  expect(*it.word.host == 1, "and goes on to it");
  OK(cuda().cuModuleUnload(it.module));
  OK(cuda().cuModuleLoadData(&it.module, kCount.c_str()));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  it.run();
  expect(*it.word.host == 2, "it goes with its module");
}

void an_ended_context_takes_its_variants_along() {
  Long it;
  it.learn();
  OK(cuda().cuDevicePrimaryCtxReset(0));
  OK(cuda().cuDevicePrimaryCtxRetain(&it.client.program.context, 0));
  OK(cuda().cuCtxSetCurrent(it.client.program.context));
  it.stream = make_stream();
  it.word = Word{};
  OK(cuda().cuModuleLoadData(&it.module, kCount.c_str()));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  for (int i = 0; i < 6; ++i) it.run();
  eventually([&] { return it.client.slot().variants.load() == 2; }, "the kernel has a variant in the new context");
  it.run();
  expect(*it.word.host == 7, "and every launch takes place once");
}

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

void forms_are_chosen_by_time() {
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

void forms_are_tried_in_turn() {
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

void high_kernels_are_left_alone() {
  High client;
  client.agent.variant = kVariants;
  client.agent.region().settings.preemptUs = 1;
  CUstream stream = make_stream();
  for (int i = 0; i < 8; ++i) client.program.run_us(2'000, stream, 10'000);
  OK(cuda().cuStreamSynchronize(stream));
  expect(client.agent.asked.load() == 0, "nobody asks");
}

constexpr Case kCases[] = {
    {"a time slice is not begun anew inside a long kernel", a_time_slice_is_not_begun_anew_inside},
    {"a request stops a long kernel inside", a_request_stops_a_long_kernel},
    {"a kernel goes on however often it was stopped", it_ends_however_often_it_is_stopped},
    {"many kernels and many requests", many_in_a_row},
    {"parameters in one buffer arrive", parameters_in_one_buffer},
    {"what gains nothing runs as it is", what_runs_as_it_is},
    {"a refused variant is no harm", no_variant_is_no_harm},
    {"a variant that cannot be used is no harm", a_bad_variant_is_no_harm},
    {"a form that the driver refuses costs only itself", a_refused_form_costs_only_itself},
    {"slices are used where the driver refuses the other form", a_refused_form_leaves_the_slices},
    {"an unloaded module takes its variants along", an_unloaded_module_takes_its_variants_along},
    {"a variant that the program has itself is used", a_variant_in_the_programs_own_module},
    {"an ended context takes its variants along", an_ended_context_takes_its_variants_along},
    {"the form that is fast and stops in time", forms_are_chosen_by_time},
    {"forms are tried in turn", forms_are_tried_in_turn},
    {"slices stop between each other", slices_stop_between_each_other},
    {"high clients' kernels are left alone", high_kernels_are_left_alone},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
