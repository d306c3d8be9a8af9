// Measures what decides the launch gate's design: how long a high client's work waits for a neighbour's,
// and what parking a neighbour on a stream wait costs either of them. One JSON file a run.
//
//   turnaround [experiment...] --json FILE [--mode NAME] [--budget SECONDS] [--flat]
//
// This process makes no CUDA call. It runs a high client (slot 0) and best-effort clients (slots 1 and 2)
// as processes of their own, re-executing itself, and orders them about through a Board. Under MPS the
// high client has priority 0 and the others 1, unless --flat.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "peer.h"
#include "report.h"

namespace {

struct Probe {
  Board& board;
  Peer high, be1, be2;
  Probe(Board& b, int fd, bool flat) : board(b), high(b, fd, 0, flat), be1(b, fd, 1, flat), be2(b, fd, 2, flat) {}

  // The high client alone, its neighbours' processes gone.
  void clear_away() {
    open_all(board);
    be1.leave();
    be2.leave();
    open_all(board);
  }
  void kill_all() {
    open_all(board);
    for (Peer* peer : {&be1, &be2, &high}) peer->kill_now();
    open_all(board);
  }
};

Order requests(Kind kind, int count, double limit_us, double gap_lo_us = 1000, double gap_hi_us = 3000) {
  Order order;
  order.act = Act::request;
  order.kind = kind;
  order.count = count;
  order.kernels = 50;
  order.kernel_us = 50;
  order.limit_us = limit_us;
  order.gap_lo_us = gap_lo_us;
  order.gap_hi_us = gap_hi_us;
  return order;
}
Order stream_of(double kernel_us, int depth, int waves = 0) {
  Order order;
  order.act = Act::stream;
  order.kernel_us = kernel_us;
  order.depth = depth;
  order.waves = waves;
  return order;
}
Order gated(double kernel_us, double chunk_us, double long_every_us = 0, double long_us = 0) {
  Order order;
  order.act = Act::gated;
  order.kernel_us = kernel_us;
  order.chunk_us = chunk_us;
  order.depth = kernel_us > 100 ? 40 : 200;
  order.long_every_us = long_every_us;
  order.long_us = long_us;
  return order;
}
Order parked(int streams, int count = 200) {
  Order order;
  order.act = Act::park;
  order.streams = streams;
  order.count = count;
  return order;
}

std::vector<double> serve(Peer& high, const Order& order) {
  high.begin(order);
  high.finish(order.limit_us / 1e6 + 8);
  return high.latencies();
}
void append(std::vector<double>& to, const std::vector<double>& more) { to.insert(to.end(), more.begin(), more.end()); }

// GPU time a second that a load got, by its own count of finished kernels.
struct Rate {
  explicit Rate(Peer& peer) : slot(peer.slot()), start_us(now_us()), work_ns(slot.work_ns) {}
  double share() const { return static_cast<double>(slot.work_ns - work_ns) / 1e3 / (now_us() - start_us); }
  Slot& slot;
  double start_us;
  uint64_t work_ns;
};

// A client's measurements by itself. If it fails, its results so far are kept.
void act_alone(Probe& p, Act act, Json& out) {
  p.clear_away();
  Order order;
  order.act = act;
  const char* const told = p.high.slot().text;
  p.high.begin(order);
  try {
    p.high.finish(25);
  } catch (const std::exception&) {
    if (told[0]) out.raw("partial", told);
    throw;
  }
  if (told[0]) out.raw("result", told);
}

void tiny_vs_kernel(Probe& p, Json& out) {
  p.clear_away();
  const Order order = requests(kTiny, 400, 0.8e6);
  out.add("absent", distribution("tiny request, best-effort absent", serve(p.high, order)));
  const struct {
    double us;
    int depth, waves;
  } loads[] = {{50, 2, 0},   {50, 30, 0},  {200, 2, 0},  {200, 30, 0},
               {1000, 2, 0}, {5000, 2, 0}, {5000, 2, 1}, {20000, 2, 0}};
  for (const auto& load : loads) {
    p.be1.begin(stream_of(load.us, load.depth, load.waves));
    p.be1.await_running();
    p.high.begin(order);
    p.high.await_running();
    const Rate rate(p.be1);
    p.high.finish();
    const double share = rate.share();
    p.be1.end();
    char label[80];
    snprintf(label, sizeof label, "beside %g us kernels, depth %d%s", load.us, load.depth,
             load.waves == 1 ? ", one wave" : "");
    out.add(label, distribution(label, p.high.latencies()).num("best_effort_share", share));
  }
}

void chain_vs_kernel(Probe& p, Json& out) {
  p.clear_away();
  Order order = requests(kPlain, 150, 1.2e6);
  order.kernels = 16;
  order.kernel_us = 200;
  out.add("absent", distribution("16 x 200 us, best-effort absent", serve(p.high, order)));
  for (const double us : {200., 5000., 20000.}) {
    p.be1.begin(stream_of(us, 2));
    p.be1.await_running();
    p.high.begin(order);
    p.high.await_running();
    const Rate rate(p.be1);
    p.high.finish();
    const double share = rate.share();
    p.be1.end();
    char label[60];
    snprintf(label, sizeof label, "16 x 200 us beside %g us kernels", us);
    out.add(label, distribution(label, p.high.latencies()).num("best_effort_share", share));
  }
}

void park(Probe& p, Json& out) {
  constexpr int kRounds = 4, kEach = 50, kStates = 6;
  const char* const states[kStates] = {
      "absent", "drained", "parked_1_stream", "parked_3_streams", "drained_2_processes", "parked_2_processes"};
  const struct {
    const char* name;
    Kind kind;
  } kinds[] = {{"graph", kGraph}, {"plain", kPlain}, {"tiny", kTiny}};
  std::vector<double> all[3][kStates], ratios[3][kStates];
  try {
    for (int round = 0; round < kRounds; ++round) {
      p.clear_away();
      double alone_us[3] = {};
      for (int state = 0; state < kStates; ++state) {
        if (state == 1) p.be1.rise();
        if (state == 4) p.be2.rise();
        std::vector<Peer*> held;
        if (state == 2 || state == 3 || state == 5) held.push_back(&p.be1);
        if (state == 5) held.push_back(&p.be2);
        for (Peer* peer : held) {
          peer->begin(parked(state == 3 ? 3 : 1));
          peer->await_running();
        }
        for (int kind = 0; kind < 3; ++kind) {
          const auto seen = serve(p.high, requests(kinds[kind].kind, kEach, 1e6, 500, 1500));
          append(all[kind][state], seen);
          const double p50_us = quantile(seen, .5);
          if (state == 0) alone_us[kind] = p50_us;
          ratios[kind][state].push_back(p50_us / alone_us[kind]);
        }
        for (Peer* peer : held) peer->end();
      }
    }
  } catch (const std::exception& e) {  // the states measured by then are still worth having
    printf("  error: %s\n", e.what());
    out.str("error", e.what());
    p.kill_all();
  }
  for (int kind = 0; kind < 3; ++kind) {
    Json group;
    for (int state = 0; state < kStates; ++state) {
      const std::string label = std::string(kinds[kind].name) + ", " + states[state];
      Json result = distribution(label, all[kind][state]);
      const double p50 = quantile(all[kind][state], .5) / quantile(all[kind][0], .5);
      const double p99 = quantile(all[kind][state], .99) / quantile(all[kind][0], .99);
      const double paired = quantile(ratios[kind][state], .5);
      printf("  %-46s p50 x %.4f  p99 x %.4f  median of rounds x %.4f\n", "", p50, p99, paired);
      group.add(states[state],
                result.num("p50_ratio", p50).num("p99_ratio", p99).num("p50_ratio_median_of_rounds", paired));
    }
    out.add(kinds[kind].name, group);
  }
}

// One best-effort load beside gated requests, its throughput alone first.
Json gated_beside(Probe& p, const char* label, const Order& load, bool gate) {
  Json out;
  p.be1.begin(load);
  p.be1.await_running();
  nap_us(50e3);
  const Rate alone(p.be1);
  nap_us(250e3);
  const double alone_share = alone.share();
  out.num("alone_share", alone_share);
  const struct {
    const char* name;
    Order order;
  } loads[] = {{"tiny", requests(kTiny, 200, 0.6e6)}, {"graph", requests(kGraph, 100, 1.2e6, 2000, 8000)}};
  for (const auto& each : loads) {
    Order order = each.order;
    order.gate = gate;
    p.high.begin(order);
    p.high.await_running();
    const Rate rate(p.be1);
    p.high.finish();
    const double seconds_us = now_us() - rate.start_us;
    const double retained = rate.share() / alone_share, active = p.high.slot().active_us / seconds_us;
    Json result = distribution(std::string(each.name) + ", " + label, p.high.latencies());
    if (gate) result.add("resume_us", distribution("  hold 0 to the next done word", p.high.resumes()));
    printf("  %-46s retained %.3f, high active %.3f, yardstick %.3f\n", "", retained, active, retained / (1 - active));
    result.num("retained", retained).num("high_active", active).num("yardstick", retained / (1 - active));
    out.add(each.name, result);
  }
  p.be1.end();
  return out;
}

void turnaround_gated(Probe& p, Json& out) {
  p.clear_away();
  Json absent;
  absent.add("tiny", distribution("tiny, best-effort absent", serve(p.high, requests(kTiny, 200, 0.6e6))));
  absent.add("graph",
             distribution("graph, best-effort absent", serve(p.high, requests(kGraph, 100, 1.2e6, 2000, 8000))));
  out.add("absent", absent);
  for (const double chunk_us : {100., 200., 400.}) {
    const std::string label = "chunk " + std::to_string(static_cast<int>(chunk_us)) + " us";
    out.add("chunk_" + std::to_string(static_cast<int>(chunk_us)),
            gated_beside(p, label.c_str(), gated(20, chunk_us), true));
  }
  out.add("chunk_200_long", gated_beside(p, "chunk 200 us, 5 ms every 100 ms", gated(20, 200, 100e3, 5000), true));
  out.add("ungated", gated_beside(p, "not gated, 20 us kernels, depth 200", stream_of(20, 200), false));
}

void two_be(Probe& p, Json& out) {
  p.clear_away();
  for (const int depth : {2, 20}) {
    const Order load = stream_of(200, depth);
    double alone[2] = {0, 0};
    Peer* const peers[2] = {&p.be1, &p.be2};
    for (int i = 0; i < 2; ++i) {
      peers[1 - i]->rise();
      peers[i]->begin(load);
      peers[i]->await_running();
      const Rate rate(*peers[i]);
      nap_us(300e3);
      alone[i] = rate.share();
      peers[i]->end();
    }
    for (Peer* peer : peers) peer->begin(load);
    for (Peer* peer : peers) peer->await_running();
    const Rate first(p.be1), second(p.be2);
    nap_us(600e3);
    const double a = first.share() / alone[0], b = second.share() / alone[1];
    for (Peer* peer : peers) peer->end();
    Json result;
    const std::string label = "not gated, depth " + std::to_string(depth);
    result.num("alone_share_1", alone[0]).num("alone_share_2", alone[1]).num("relative_1", a).num("relative_2", b);
    out.add(label, result.show("sum relative to one alone, " + label, a + b, ""));
  }

  const Order load = gated(200, 200);
  p.be1.begin(load);
  p.be1.await_running();
  const Rate rate(p.be1);
  nap_us(300e3);
  const double alone = rate.share();
  p.be1.end();
  out.num("gated_alone_share", alone);
  auto& hold1 = p.board.hold[1][0].value;
  auto& hold2 = p.board.hold[2][0].value;
  for (const double turn_us : {2000., 5000., 10000.}) {
    for (Peer* peer : {&p.be1, &p.be2}) peer->begin(load);
    for (Peer* peer : {&p.be1, &p.be2}) peer->await_running();
    const Rate first(p.be1), second(p.be2);
    int turn = 0;
    for (const double end = now_us() + 0.6e6; now_us() < end; ++turn) {
      (turn % 2 ? hold1 : hold2).store(1);
      (turn % 2 ? hold2 : hold1).store(0);
      spin_until(now_us() + turn_us);
    }
    const double a = first.share() / alone, b = second.share() / alone;
    open_all(p.board);
    for (Peer* peer : {&p.be1, &p.be2}) peer->end();
    Json result;
    result.num("relative_1", a).num("relative_2", b).num("turns", turn);
    const std::string label = "turns of " + std::to_string(static_cast<int>(turn_us / 1000)) + " ms";
    out.add(label, result.show("sum relative to one gated alone, " + label, a + b, ""));
  }
}

void kill_parked(Probe& p, Json& out) {
  p.clear_away();
  std::vector<double> before, after, gone;
  for (int round = 0; round < 5; ++round) {
    Json result;
    p.be1.begin(parked(1));
    p.be1.await_running();
    p.high.begin(requests(kGraph, kSamples, 2.3e6, 300, 800));
    p.high.await_running();
    nap_us(300e3);
    const double killed = now_us();
    const double gone_us = p.be1.kill_now();
    result.num("gone_us", gone_us);
    bool answered = p.high.answers_within(5);
    if (!answered) {  // did the dead client's wait take the GPU with it? would opening have helped?
      const uint32_t seen = p.high.slot().nsamples;
      open_all(p.board);
      answered = p.high.answers_within(4);
      result.flag("high_stuck", true).flag("opening_freed_it", answered || p.high.slot().nsamples != seen);
    }
    append(before, p.high.latencies(0, killed - 10e3));
    append(after, p.high.latencies(killed));
    gone.push_back(gone_us);
    result.num("max_before_us", quantile(p.high.latencies(0, killed - 10e3), 1));
    result.show("round " + std::to_string(round) + ": process gone after", gone_us, "us");
    result.show("worst request in the 2 s after", quantile(p.high.latencies(killed), 1), "us");
    out.add("round_" + std::to_string(round), result);
    open_all(p.board);
    try {
      p.high.finish(1);
      p.be1.begin(stream_of(50, 4));  // the GPU still serves a newcomer
      p.be1.await_running();
      p.be1.end();
    } catch (const std::exception& e) {
      out.str("error", e.what());
      p.kill_all();
      break;
    }
  }
  out.add("before", distribution("requests before the kill", before));
  out.add("after", distribution("requests in the 2 s after it", after));
  out.add("gone", distribution("SIGKILL to reaped", gone));
}

void platform(Probe& p, Json& out) { act_alone(p, Act::platform, out); }
void open_latency(Probe& p, Json& out) { act_alone(p, Act::open_latency, out); }
void chunk_cost(Probe& p, Json& out) { act_alone(p, Act::chunk_cost, out); }
void released(Probe& p, Json& out) { act_alone(p, Act::released, out); }
void graph_with_memop(Probe& p, Json& out) { act_alone(p, Act::graph_with_memop, out); }
void queue_depth(Probe& p, Json& out) { act_alone(p, Act::queue_depth, out); }

const struct {
  const char* name;
  void (*run)(Probe&, Json&);
} kExperiments[] = {
    {"park", park},
    {"released", released},
    {"open_latency", open_latency},
    {"chunk_cost", chunk_cost},
    {"tiny_vs_kernel", tiny_vs_kernel},
    {"chain_vs_kernel", chain_vs_kernel},
    {"turnaround_gated", turnaround_gated},
    {"two_be", two_be},
    {"graph_with_memop", graph_with_memop},
    {"queue_depth", queue_depth},
    {"kill_parked", kill_parked},  // last: it may break an MPS server
};

// Replaced as a whole after every experiment, so a run that is cut short leaves what it has.
void write_report(const std::string& path, const Json& head, const Json& experiments) {
  Json whole = head;
  const std::string text = whole.add("experiments", experiments).text() + "\n", fresh = path + ".new";
  FILE* file = fopen(fresh.c_str(), "w");
  if (!file || fputs(text.c_str(), file) < 0 || fclose(file) != 0 || rename(fresh.c_str(), path.c_str()) != 0) {
    fprintf(stderr, "cannot write %s\n", path.c_str());
  }
}

// One experiment; a failure is its result, and the clients start afresh for the next.
Json attempt(Probe& p, const char* name, void (*run)(Probe&, Json&)) {
  printf("%s\n", name);
  fflush(stdout);
  const double start = now_us();
  Json result;
  try {
    run(p, result);
  } catch (const std::exception& e) {
    printf("  error: %s\n", e.what());
    result.str("error", e.what());
    p.kill_all();
  }
  fflush(stdout);
  return result.num("seconds", (now_us() - start) / 1e6);
}

int usage() {
  fprintf(stderr, "turnaround [experiment...] --json FILE [--mode NAME] [--budget SECONDS] [--flat]\nexperiments:");
  for (const auto& each : kExperiments) fprintf(stderr, " %s", each.name);
  fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && !strcmp(argv[1], "--client")) return run_client(atoi(argv[2]), atoi(argv[3]));

  std::vector<std::string> names;
  std::string json, mode = "isolated";
  double budget_s = 140;
  bool flat = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--json" && more) json = argv[++i];
    else if (word == "--mode" && more) mode = argv[++i];
    else if (word == "--budget" && more) budget_s = atof(argv[++i]);
    else if (word == "--flat") flat = true;
    else names.push_back(word);
  }
  const auto known = [](const std::string& name) {
    for (const auto& each : kExperiments) {
      if (name == each.name) return true;
    }
    return false;
  };
  for (const auto& name : names) {
    if (!known(name)) return usage();
  }
  if (json.empty()) return usage();

  const int fd = memfd_create("probe", 0);  // inherited by the clients, so not close-on-exec
  if (fd < 0 || ftruncate(fd, sizeof(Board)) != 0) return perror("memfd"), 1;
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return perror("mmap"), 1;
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  alarm(static_cast<unsigned>(budget_s) + 30);  // the clients die with this process

  const double start = now_us();
  Probe probe(*static_cast<Board*>(memory), fd, flat);
  Json head, experiments;
  head.str("mode", mode).flag("client_priorities", !flat);
  head.add("platform", attempt(probe, "platform", platform));
  write_report(json, head, experiments);
  if (probe.board.calibration.us_per_iteration <= 0) return 1;  // nothing else can be measured
  for (const auto& each : kExperiments) {
    bool wanted = names.empty();
    for (const auto& name : names) wanted = wanted || name == each.name;
    if (!wanted) continue;
    const double left_s = budget_s - (now_us() - start) / 1e6;
    experiments.add(each.name, left_s > 5 ? attempt(probe, each.name, each.run) : Json().str("error", "out of time"));
    write_report(json, head, experiments);
  }
  probe.clear_away();
  probe.high.leave();
  printf("%s: %.1f s, written to %s\n", mode.c_str(), (now_us() - start) / 1e6, json.c_str());
  return 0;
}
