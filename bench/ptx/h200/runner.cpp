// Runs kernels and their variants on a GPU, for run.py: g++ -O2 -std=c++17 runner.cpp -lcuda.
//   runner PLAN_FOLDER FIRST_CASE SECONDS RESULTS [times]
// One line of JSON a case, appended as soon as it is done (stdout is for kernels that print).
// "times": nothing is compared. What it compares is memory, bit for bit; what it measures is
// said at each measurement. plan.ts says what a plan is.
#include "figures.h"

namespace {

void run(Case& small, CUmodule module) {
  Case one = small;
  Runner runner{one, kernel_in(module, one.kernel, one), {}, {}};
  if (one.has("slice")) runner.sliced = kernel_in(module, one.kernel + "__cotenant_slice", one);
  if (one.has("preempt")) runner.persistent = kernel_in(module, one.kernel + "__cotenant_preempt", one);
  std::vector<Form> others;
  if (one.has("preempt"))
    for (const auto& [label, file] : one.forms)
      others.push_back({label, kernel_in(module_in(file), one.kernel + "__cotenant_preempt", one)});
  Json json;
  json.text("name", one.name);
  const auto uses = [](const Kernel& k) {
    return Json().put("registers", k.registers).put("shared", k.shared).put("blocks", k.blocks).done();
  };
  json.put("uses", uses(runner.original));
  if (runner.sliced.function) json.put("slice uses", uses(runner.sliced));
  if (runner.persistent.function) json.put("preempt uses", uses(runner.persistent));

  // Does the original itself leave the same memory twice?
  const auto twice = [&](const Grid& grid) {
    for (int i = 0; i < 2; ++i) {
      runner.reset();
      runner.launch(runner.original, grid);
      CU(cuStreamSynchronize(stream));
      if (i > 0) return runner.difference().empty();
      runner.keep();
    }
    return false;
  };
  const Grid given{{one.grid[0], one.grid[1], one.grid[2]}};
  stage("small grid");
  const bool repeats = compares && twice(given);
  if (compares) json.put("repeats", repeats ? "true" : "false");
  if (repeats) json.put("small", compared_json(compare(runner, given, true, 0)));
  if (repeats && !one.cubin.empty()) json.put("as the given machine code", as_given(runner, given) ? "true" : "false");

  stage("making it long");
  double us = 0;
  const Grid grid = long_grid(runner, small, one, us);
  json.put("blocks", grid.blocks());
  json.text("made long", one.repeat == "grow" ? "more data" : one.repeat == "none" ? "no" : "repeated");
  json.put("long", us >= kShortestUs ? "true" : "false");
  stage("measuring");
  measure(runner, others, grid, json);
  stage("long grid");
  if (compares && us < 50e3 && twice(grid)) json.put("large", compared_json(compare(runner, grid, false, us)));
  std::fprintf(results, "%s\n", json.done().c_str());
  std::fflush(results);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || !(results = std::fopen(argv[4], "a"))) return 2;
  folder = argv[1];
  compares = argc == 5;
  const int first = std::atoi(argv[2]);
  const double until = now_us() + std::atof(argv[3]) * 1e6;
  const std::string blob = read_file(folder + "/inputs.bin");
  inputs.assign(blob.begin(), blob.end());

  CU(cuInit(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  CU(cuDeviceGet(&device, 0));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  CU(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CU(cuMemAlloc(&windows, kWindow * kWindows));
  CU(cuMemAlloc(&pristine, 2 * kMostBytes));
  CU(cuMemAlloc(&wanted, kMostBytes));
  CU(cuModuleGetFunction(&differs, compiled(kDiffers), "differs"));
  CU(cuMemAlloc(&control, 256));
  void* words = nullptr;
  CU(cuMemHostAlloc(&words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(words, 0, 4096);
  host_words = static_cast<volatile std::uint32_t*>(words);
  CU(cuMemHostGetDevicePointer(&flag, words, 0));
  gone = flag + 64;

  std::ifstream plan(folder + "/plan.txt");
  std::string line, loaded;
  Case one;
  for (int number = -1; std::getline(plan, line);) {
    std::istringstream words_of(line);
    std::string key;
    words_of >> key;
    if (key == "case") {
      one = Case{};
      one.name = line.substr(5);
      pristine_used = 0;
      if (++number < first) continue;
      if (now_us() > until) return 0;
      // A hang ends the process; run.py goes on with the next case.
      std::fprintf(results, "{\"began\": %d, \"name\": \"%s\"}\n", number, one.name.c_str());
      std::fflush(results);
      alarm(kSecondsOfACase);
    }
    if (number < first) continue;
    if (key == "file") words_of >> one.file;
    else if (key == "kernel") words_of >> one.kernel;
    else if (key == "grid") words_of >> one.grid[0] >> one.grid[1] >> one.grid[2];
    else if (key == "block") words_of >> one.block[0] >> one.block[1] >> one.block[2];
    else if (key == "shared") words_of >> one.shared;
    else if (key == "repeat") words_of >> one.repeat >> one.grows;
    else if (key == "variants") one.variants = line;
    else if (key == "cubin") words_of >> one.cubin;
    else if (key == "form") {
      one.forms.emplace_back();
      words_of >> one.forms.back().first >> one.forms.back().second;
    } else if (key != "case" && key != "end") argument(one, key, words_of);
    if (key != "end") continue;
    if (one.file != loaded) {
      unload_all();
      loaded = one.file;
    }
    const CUmodule module = module_in(one.file);
    CU(cuMemsetD8Async(windows, 0, kWindow * std::max<std::size_t>(1, one.buffers.size()), stream));
    CU(cuStreamSynchronize(stream));
    run(one, module);
    alarm(0);
  }
  return 0;
}
