// Runs programs of program.ts, each in a process of its own, and says of each in one line of JSON what came of it.
//
//   programs native|high|best-effort      a program a request on stdin: its lines, and before them
//                                      `PROGRAM LINES ISOLATED COPY AHEAD_US BURSTS BURST_US GAP_US`
//
// This process is the agent, and the high client beside best-effort programs: BURSTS requests of BURST_US, GAP_US
// apart, after which it goes away.
#include <sys/wait.h>

#include <dirent.h>

#include <iostream>
#include <sstream>

#include "../interposer/fixture.h"
#include "memory.h"
#include "threads.h"

namespace programs {
namespace {

using namespace harness;

constexpr std::uint64_t kStuckNs = 3'000'000'000;  // a call that takes longer: the program is ended
constexpr unsigned kNeighbour = 9;
constexpr std::uint64_t kBit = std::uint64_t{1} << kNeighbour;

std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

struct Request {
  std::vector<Line> lines;
  unsigned threads = 1;
  unsigned isolated = 1, copy = 0, ahead_us = 0, bursts = 0, burst_us = 0, gap_us = 0;
};

bool read_request(Request& to) {
  std::string text;
  std::size_t count = 0;
  if (!std::getline(std::cin, text)) return false;
  std::string word;
  std::istringstream head(text);
  head >> word >> count >> to.isolated >> to.copy >> to.ahead_us >> to.bursts >> to.burst_us >> to.gap_us;
  if (word != "PROGRAM" || count > kLines) fail("not a program: " + text);
  for (unsigned number = 0; number < count; ++number) {
    Line line{};
    line.number = number;
    std::getline(std::cin, text);
    std::istringstream in(text);
    in >> line.thread >> line.operation;
    for (std::uint64_t value; in >> value;) line.of.push_back(value);
    line.of.resize(16);
    if (line.operation != "barrier" && !known(line.operation)) fail("no operation: " + text);
    if (line.thread >= kThreads) fail("no such thread: " + text);
    to.threads = std::max(to.threads, line.thread + 1);
    to.lines.push_back(line);
  }
  return true;
}

void execute_timed(const Line& line, Results& results) {
  auto& own = results.threads[line.thread];
  const std::uint64_t begin = now_ns();
  own.line.store(line.number);
  own.since.store(begin);
  const CUresult code = execute(line);
  own.since.store(0);
  results.lines[line.number].us.store(static_cast<std::uint32_t>((now_ns() - begin) / 1000));
  results.lines[line.number].code.store(static_cast<std::uint32_t>(code));
}

// Thread 0's lines before the first barrier are executed alone: they make what all use. So are those after the last.
void run_program(const Request& request, Results& results) {
  use_results(results);
  if (request.copy) use_copy();
  OK(cuda().cuInit(0));
  CUcontext first = nullptr;
  OK(cuda().cuDevicePrimaryCtxRetain(&first, 0));
  OK(cuda().cuCtxSetCurrent(first));
  make_words();
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, request.threads);
  const auto work = [&](unsigned thread) {
    for (const Line& line : request.lines) {
      if (line.operation == "barrier") pthread_barrier_wait(&barrier);
      else if (line.thread == thread) execute_timed(line, results);
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < request.threads; ++i) others.emplace_back(work, i);
  work(0);
  for (auto& each : others) each.join();
  results.ended.store(1);
}

// For how long the threads of a process were ready to run and did not: the load of the machine.
std::uint64_t kept_waiting_ns(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  std::uint64_t all = 0;
  DIR* directory = opendir(tasks.c_str());
  if (!directory) return 0;
  while (const dirent* entry = readdir(directory)) {
    std::FILE* file = std::fopen((tasks + "/" + entry->d_name + "/schedstat").c_str(), "r");
    unsigned long long ran = 0, waited = 0;
    if (file && std::fscanf(file, "%llu %llu", &ran, &waited) == 2) all += waited;
    if (file) std::fclose(file);
  }
  closedir(directory);
  return all;
}

// The high client beside a best-effort program, as native/interposer/high/high.cpp would have it.
class Neighbour {
 public:
  Neighbour(cotenant::protocol::Region& region, const Request& request) : region_(region) {
    if (request.bursts) thread_ = std::thread([this, &request] { run(request); });
  }
  ~Neighbour() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t active_ns() const { return active_ns_.load(); }

 private:
  void run(const Request& request) {
    auto& page = region_.holds[0];
    region_.roster.registered = 1;
    for (unsigned i = 0; i < request.bursts && !stop_.load(); ++i) {
      usleep(request.gap_us);
      const std::uint64_t begin = now_ns();
      page.high[kNeighbour].burstSince = begin;
      if (page.active.fetch_or(kBit) == 0) page.activations.fetch_add(1);
      page.word.store(1);
      usleep(request.burst_us);
      page.active.fetch_and(~kBit);
      page.idleSince.store(now_ns());
      active_ns_.fetch_add(now_ns() - begin);
    }
    region_.roster.registered = 0;
  }
  cotenant::protocol::Region& region_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> active_ns_{0};
};

// The line that a thread has been at for too long; -1: none.
int stuck_line(const Results& results, std::uint64_t patience_ns) {
  for (const auto& thread : results.threads) {
    const std::uint64_t since = thread.since.load();
    if (since != 0 && now_ns() > since + patience_ns) return static_cast<int>(thread.line.load());
  }
  return -1;
}

struct Outcome {
  int status = -1;
  int stuck = -1;
  std::uint64_t waited_ns = 0;
};

Outcome watch(pid_t child, const Results& results) {
  Outcome outcome;
  const std::uint64_t began = now_ns();
  const std::uint64_t before = kept_waiting_ns(getpid());
  std::uint64_t ended_since = 0;
  for (unsigned round = 0;; ++round) {
    int status = 0;
    // The agent is in this process.
    if (round % 16 == 0)
      outcome.waited_ns = std::max(outcome.waited_ns, kept_waiting_ns(child) + kept_waiting_ns(getpid()) - before);
    const std::uint64_t patience = kStuckNs + outcome.waited_ns;
    if (waitpid(child, &status, WNOHANG) == child) {
      outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
      return outcome;
    }
    outcome.stuck = stuck_line(results, patience);
    if (results.ended.load() && ended_since == 0) ended_since = now_ns();
    const bool leaves_late = ended_since != 0 && now_ns() > ended_since + patience;
    if (outcome.stuck >= 0 || leaves_late || now_ns() > began + 10 * patience) {
      if (outcome.stuck < 0) outcome.stuck = static_cast<int>(kLines);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return outcome;
    }
    usleep(round < 40 ? 200 : 2000);
  }
}

void reset(cotenant::protocol::Region& region) {
  std::memset(static_cast<void*>(&region.bestEffort[0]), 0, sizeof region.bestEffort[0]);
  std::memset(static_cast<void*>(&region.high[0]), 0, sizeof region.high[0]);
  std::memset(static_cast<void*>(&region.roster), 0, sizeof region.roster);
  std::memset(static_cast<void*>(&region.holds[0]), 0, sizeof region.holds[0]);
  region.roster.bestEffort = 1;
  cotenant::protocol::set_strict_rules(region.settings);
}

void print(const Request& request, const Results& results, const Outcome& outcome, std::uint64_t owed_ns, int asked) {
  std::string text = "{\"status\":" + std::to_string(outcome.status) + ",\"stuck\":" + std::to_string(outcome.stuck) +
                     ",\"asked\":" + std::to_string(asked) + ",\"owedUs\":" + std::to_string(owed_ns / 1000) +
                     ",\"loadUs\":" + std::to_string(outcome.waited_ns / 1000);
  const auto list = [&](const char* name, std::size_t count, auto&& of) {
    text += std::string(",\"") + name + "\":[";
    for (std::size_t i = 0; i < count; ++i) text += (i ? "," : "") + of(i);
    text += "]";
  };
  list("codes", request.lines.size(), [&](std::size_t i) { return std::to_string(results.lines[i].code.load()); });
  list("us", request.lines.size(), [&](std::size_t i) { return std::to_string(results.lines[i].us.load()); });
  list("calls", kLanes, [&](std::size_t lane) {
    std::string each = "\"";
    for (std::size_t i = 0; i < std::min<std::size_t>(results.called[lane].load(), kPerLane); ++i)
      each += std::to_string(results.calls[lane][i].load()) + " ";
    return each + "\"";
  });
  list("digests", kObjects, [&](std::size_t i) { return "\"" + std::to_string(results.digests[i].load()) + "\""; });
  std::printf("%s}\n", text.c_str());
  std::fflush(stdout);
}

int run_all(const std::string& role) {
  Agent agent;
  if (role != "native") agent.become(role.c_str());
  auto* results =
      static_cast<Results*>(mmap(nullptr, sizeof(Results), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Request request;
  for (; read_request(request); request = Request{}) {
    std::memset(static_cast<void*>(results), 0, sizeof *results);
    for (auto& line : results->lines) line.code.store(kUntouched);
    reset(agent.region());
    agent.region().settings.isolated = request.isolated;
    agent.region().settings.submitUs = request.ahead_us;
    const int asked = agent.connections();
    const pid_t child = fork();
    if (child == 0) {
      run_program(request, *results);
      std::exit(0);
    }
    std::uint64_t owed_ns = 0;
    Outcome outcome;
    {
      Neighbour neighbour(agent.region(), request);
      outcome = watch(child, *results);
      owed_ns = role == "best-effort" ? neighbour.active_ns() : 0;
    }
    print(request, *results, outcome, owed_ns, agent.connections() - asked);
  }
  return 0;
}

}  // namespace
}  // namespace programs

int main(int count, char** arguments) {
  if (count != 2) harness::fail("usage: programs native|high|best-effort");
  return programs::run_all(arguments[1]);
}
