// Variants that cannot be used, and variants that end with their module or context: the program notices neither.
#include "long_kernel.h"

using namespace harness;

namespace {

// The software GPU refuses a module with a directive that it does not know.
std::string refused(std::string variant) { return variant.replace(variant.find("effect="), 7, "nonsense="); }

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

void a_refused_variant_costs_only_itself() {
  Long it(kPtxHead + refused(kSlice) + kPreempt);
  it.learn();
  a_request_stops(it);
}

void a_refused_variant_leaves_the_slices() {
  Long it(kPtxHead + kSlice + refused(kPreempt));
  it.learn();
  expect(it.client.slot().preemptible.load() > 0, "they are launched");
  it.run();
  expect(*it.word.host == 1, "and do all of the kernel once");
}

void blocks_in_clusters_have_no_variant() {
  Long it;
  OK(cuda().cuFuncSetAttribute(it.count, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  for (int i = 0; i < 6; ++i) it.run();
  sleep_ms(50);
  it.run();
  expect(*it.word.host == 7, "the kernel runs as it is");
  expect(it.client.agent.asked.load() == 0, "and nobody is asked for variants");
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
  OK(cuda().cuModuleLoadData(&it.module, Agent::with_variants(kCount, kCount + kPreempt).c_str()));
  OK(cuda().cuModuleGetFunction(&it.count, it.module, "count"));
  for (int i = 0; i < 6; ++i) it.run();
  it.try_all();
  *it.word.host = 0;
  expect(it.client.agent.asked.load() == 0, "nobody is asked");
  expect(it.client.slot().variants.load() == 1, "it has been found");
  a_request_stops(it);
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

constexpr Case kCases[] = {
    {"a refused variant is no harm", no_variant_is_no_harm},
    {"a variant that cannot be used is no harm", a_bad_variant_is_no_harm},
    {"a variant that the driver refuses costs only itself", a_refused_variant_costs_only_itself},
    {"slices are used where the driver refuses the other variant", a_refused_variant_leaves_the_slices},
    {"a kernel whose blocks work in clusters has no variant", blocks_in_clusters_have_no_variant},
    {"an unloaded module takes its variants along", an_unloaded_module_takes_its_variants_along},
    {"a variant that the program has itself is used", a_variant_in_the_programs_own_module},
    {"an ended context takes its variants along", an_ended_context_takes_its_variants_along},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
