// Comparisons and measurements of one case.
#pragma once

#include "launches.h"

namespace {

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

class Json {
 public:
  template <class T>
  Json& put(const char* name, const T& value) {
    out_ << (first_ ? "{" : ", ") << '"' << name << "\": " << value;
    first_ = false;
    return *this;
  }
  Json& text(const char* name, const std::string& value) { return put(name, '"' + value + '"'); }
  Json& list(const char* name, const std::vector<double>& all) {
    std::ostringstream text;
    for (std::size_t i = 0; i < all.size(); ++i) text << (i ? ", " : "") << all[i];
    return put(name, '[' + text.str() + ']');
  }
  std::string done() { return first_ ? "{}" : out_.str() + "}"; }

 private:
  std::ostringstream out_;
  bool first_{true};
};

struct Compared {
  int runs{0}, resumed{0};
  std::vector<std::string> differences;
};

// Slices of one and two blocks, few and many workers, stops before the first block and at random moments.
Compared compare(Runner& runner, const Grid& grid, bool thorough, double original_us) {
  Compared found;
  const auto same = [&](const std::string& what, const std::function<int()>& run) {
    runner.reset();
    found.resumed += run();
    ++found.runs;
    CU(cuStreamSynchronize(stream));
    const std::string where = runner.difference();
    if (!where.empty()) found.differences.push_back('"' + what + ": " + where + " differs\"");
  };
  if (runner.sliced.function) {
    const int axis = grid.of[0] >= grid.of[2] ? 0 : 2;
    for (unsigned width : {1u, 2u, std::max(1u, grid.of[axis] / 3)})
      if (thorough || width > 2)
        same("slices of " + std::to_string(width), [&] {
          runner.launch_slices(grid, axis, width);
          return 0;
        });
  }
  if (runner.persistent.function) {
    const unsigned places = static_cast<unsigned>(runner.persistent.blocks * sms - 1);
    for (unsigned workers :
         thorough ? std::vector<unsigned>{1, 2, 5, places} : std::vector<unsigned>{places, places / 2}) {
      const std::string who = std::to_string(workers) + " workers";
      same(who, [&] { return runner.run_stopped(grid, workers, 0); });
      same(who + ", stopped before the first block", [&] { return runner.run_stopped(grid, workers, -1); });
      for (int i = 0; i < 3; ++i)
        same(who + ", stopped at random", [&] {
          const double within = thorough ? 12 : 10 + original_us;
          return runner.run_stopped(grid, workers, within);
        });
    }
  }
  return found;
}

std::string compared_json(const Compared& found) {
  std::string differences;
  for (const auto& one : found.differences) differences += (differences.empty() ? "" : ", ") + one;
  return Json()
      .put("runs", found.runs)
      .put("resumed", found.resumed)
      .put("differences", '[' + differences + ']')
      .done();
}

// Does machine code that another assembler made of the same PTX leave the same memory?
bool as_given(Runner& runner, const Grid& grid) {
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module, read_file(folder + "/" + runner.one.cubin).data()));
  runner.reset();
  runner.launch(kernel_in(module, runner.one.kernel, runner.one), grid);
  CU(cuStreamSynchronize(stream));
  const bool same = runner.difference().empty();
  CU(cuModuleUnload(module));
  return same;
}

// The original until it takes long enough: with more data where that is known how, else its grid repeated along an axis
// that it does not read, so that each repetition does the same again. `grown` has the data, and must outlive the runner.
Grid long_grid(Runner& runner, const Case& small, Case& grown, double& us) {
  Grid grid{{small.grid[0], small.grid[1], small.grid[2]}};
  const auto time = [&] {
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      runner.reset();
      all.push_back(runner.time_us([&] { runner.launch(runner.original, grid); }));
    }
    return median(all);
  };
  // A short kernel is all overhead, so the factor rises carefully.
  const auto factor_for = [&] { return us < 20 ? 16 : kTargetUs / us * 1.05; };
  us = time();
  if (small.repeat == "none") return grid;
  if (small.repeat == "grow") {
    double factor = 1;
    for (int i = 0; i < 8 && us < kTargetUs * 0.9; ++i) {
      const double wanted_factor = factor * factor_for();
      Case next;
      if (!grow(small, static_cast<unsigned>(wanted_factor) + 1, next)) break;
      factor = static_cast<unsigned>(wanted_factor) + 1;
      grown = next;
      grid.of[0] = grown.grid[0];
      us = time();
    }
    return grid;
  }
  const int axis = small.repeat[0] - 'x';
  const std::uint64_t most = axis == 0 ? (1u << 31) - 1 : 65535;
  for (int i = 0; i < 8 && us < kTargetUs * 0.9; ++i) {
    const auto more = static_cast<std::uint64_t>(grid.of[axis] * factor_for()) + 1;
    const std::uint64_t others = grid.blocks() / grid.of[axis];
    const std::uint64_t fits = std::min(most, ((std::uint64_t{1} << 31) - 1) / others);
    if (grid.of[axis] >= fits) break;
    grid.of[axis] = static_cast<unsigned>(std::min(more, fits));
    us = time();
  }
  return grid;
}

// From the store of the flag until the GPU writes a word behind the kernel; 0 where the launch did not stop.
double turnaround(Runner& runner, const Tried& tried, const Grid& grid, double lasts) {
  CU(cuMemsetD32Async(control, 0, 2, stream));
  CU(cuStreamSynchronize(stream));
  *host_words = 0;
  host_words[16] = 0;
  runner.launch_workers(tried.kernel, grid, tried.workers, 1);
  CU(cuStreamWriteValue32(stream, gone, 1, 0));
  spin(4 + std::uniform_real_distribution<double>(0.1, 0.8)(chance) * lasts);
  if (host_words[16]) return 0;
  const double raised = now_us();
  *host_words = 1;
  while (!host_words[16]) {
  }
  const double took = now_us() - raised;
  CU(cuStreamSynchronize(stream));
  *host_words = 0;
  return runner.claimed(1) < grid.blocks() ? took : 0;
}

// Worker counts of the preemptible form that are measured: all that fit, three quarters and half of them; all workers
// of each form where there are several, in turn, so that they are compared at the same moments.
std::vector<Tried> tried_of(const Runner& runner, const std::vector<Form>& others) {
  if (!runner.persistent.function) return {};
  const auto workers = [](const Kernel& kernel, int quarters) {
    return static_cast<unsigned>(std::max(1, kernel.blocks * quarters / 4) * sms - 1);
  };
  std::vector<Tried> all{{"", runner.persistent, workers(runner.persistent, 4)}};
  if (others.empty())
    for (int quarters : {3, 2}) all.push_back({"", runner.persistent, workers(runner.persistent, quarters)});
  for (const auto& [label, kernel] : others) all.push_back({label, kernel, workers(kernel, 4)});
  return all;
}

void measure(Runner& runner, const std::vector<Form>& others, const Grid& grid, Json& json) {
  Case& one = runner.one;
  const auto tried = tried_of(runner, others);
  const bool slices = runner.sliced.function && others.empty();
  const int axis = one.repeat.size() > 1 ? (grid.of[0] >= grid.of[1] ? 0 : 1) : one.repeat[0] - 'x';
  std::vector<double> original, whole, four;
  std::vector<std::vector<double>> persistent(tried.size());
  *host_words = 0;
  for (int i = 0; i < kTimings; ++i) {
    runner.reset();
    original.push_back(runner.time_us([&] { runner.launch(runner.original, grid); }));
    for (std::size_t w = 0; w < tried.size(); ++w) {
      runner.reset();
      CU(cuMemsetD32Async(control, 0, 2, stream));
      persistent[w].push_back(
          runner.time_us([&] { runner.launch_workers(tried[w].kernel, grid, tried[w].workers, 1); }));
    }
    if (slices) {
      runner.reset();
      whole.push_back(runner.time_us([&] { runner.launch_slices(grid, axis, grid.of[axis]); }));
      runner.reset();
      const unsigned width = std::max(1u, (grid.of[axis] + 3) / 4);
      four.push_back(runner.time_us([&] { runner.launch_slices(grid, axis, width); }));
    }
  }
  const double alone = median(original);
  json.put("original us", alone);
  if (slices) json.put("slice whole us", median(whole)).put("slice in four us", median(four));

  // Blocks alone on the GPU, from the grid's first to its last: the longest. And what a block takes where all places are
  // taken: by what the whole grid took, and so much more for the longest as it is longer than they are on average.
  std::vector<double> blocks;
  const std::uint64_t all = grid.blocks();
  for (int i = 0; i < (runner.sliced.function ? kPositions : 1); ++i) {
    const std::uint64_t number = (all - 1) * static_cast<unsigned>(i) / (kPositions - 1);
    unsigned at[] = {static_cast<unsigned>(number % grid.of[0]),
                     static_cast<unsigned>(number / grid.of[0] % grid.of[1]),
                     static_cast<unsigned>(number / grid.of[0] / grid.of[1])};
    Grid size = grid;
    std::vector<double> times;
    for (int k = 0; k < 3; ++k)
      times.push_back(runner.time_us([&] {
        if (runner.sliced.function)
          runner.launch(runner.sliced, {{1, 1, 1}}, {&at[0], &at[1], &at[2], &size.of[0], &size.of[1], &size.of[2]});
        else runner.launch(runner.original, {{1, 1, 1}});
      }));
    blocks.push_back(median(times));
  }
  const double longest = *std::max_element(blocks.begin(), blocks.end());
  const double mean = std::accumulate(blocks.begin(), blocks.end(), 0.0) / static_cast<double>(blocks.size());
  const double resident = std::min<double>(static_cast<double>(runner.original.blocks) * sms, static_cast<double>(all));
  json.put("longest block us", longest);
  json.put("longest block under load us", alone * resident / static_cast<double>(all) * longest / mean);

  stage("stopping");
  std::string table;
  std::vector<std::vector<double>> stops(tried.size());
  const std::size_t stopped = others.empty() ? std::min<std::size_t>(1, tried.size()) : tried.size();
  for (int i = 0; i < (others.empty() ? kTurnarounds : kTurnarounds / 2); ++i)
    for (std::size_t w = 0; w < stopped; ++w)
      if (const double us = turnaround(runner, tried[w], grid, median(persistent[0])); us > 0) stops[w].push_back(us);
  for (std::size_t w = 0; w < tried.size(); ++w) {
    const auto& [label, kernel, workers] = tried[w];
    Json row;
    row.put("workers", workers).put("us", median(persistent[w]));
    std::sort(stops[w].begin(), stops[w].end());
    if (!label.empty()) row.text("form", label).put("registers", kernel.registers).put("blocks", kernel.blocks);
    if (!label.empty()) row.list("turnaround us", stops[w]);
    table += (w ? ", " : "") + row.done();
  }
  if (tried.empty()) return;
  json.put("preempt", '[' + table + ']').list("turnaround us", stops[0]);
}

}  // namespace
