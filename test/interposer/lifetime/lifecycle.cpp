// A best-effort client among others that come, go, refuse and die.
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "../fixture.h"

using namespace harness;

namespace {

void without_an_agent_it_crawls() {
  setenv("COTENANT_CLASS", "best-effort", 1);
  setenv("COTENANT_SOCKET", "/tmp/no-agent-here.sock", 1);
  Program program;
  CUstream stream = make_stream();
  const std::uint64_t before = now_ms();
  // 20 ms at full speed. A chunk every 10 ms: seconds; where our thread is late, half of the time at the worst.
  for (int i = 0; i < 200; ++i) program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  const std::uint64_t took = now_ms() - before;
  expect(took >= 30,
         "work without an agent runs at minimum progress, not at full speed: " + std::to_string(took) + " ms");
}

void names_the_version(std::uint32_t version, const std::string& cure) {
  Agent agent;
  agent.version = version;
  agent.become("best-effort");
  const std::string said = told([] {
    Program program;
    CUstream stream = make_stream();
    program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
  });
  const std::string versions = "version " + std::to_string(version) + " of the protocol, this library version " +
                               std::to_string(cotenant::protocol::VERSION) + ". " + cure +
                               " with the newer Cotenant. Until then ";
  expect(said.find(versions) != std::string::npos, "an agent of another version is named: " + said);
  expect(said.find("no agent answers") == std::string::npos, "and not called absent: " + said);
}

void agent_of_an_older_version_is_named() {
  names_the_version(cotenant::protocol::VERSION - 1, "The agent is older: restart it");
}

void agent_of_a_newer_version_is_named() {
  names_the_version(cotenant::protocol::VERSION + 1, "This program is older: start it again");
}

void refused_by_the_agent() {
  Agent agent;
  agent.status = cotenant::protocol::WelcomeStatus::kRefused;
  agent.reason = "uid 1000 gets no slot here.";
  agent.become("best-effort");
  CUcontext context = nullptr;
  OK(cuda().cuInit(0));
  expect(cuda().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_NOT_PERMITTED, "no slot, no GPU");
  expect(cuda().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_NOT_PERMITTED, "nor at the second try");
  agent.status = cotenant::protocol::WelcomeStatus::kOk;
  OK(cuda().cuDevicePrimaryCtxRetain(&context, 0));
  expect(agent.welcomed() == 1, "once it may it attaches");
}

// The agent refuses for a reason that passes: once it has been asked a few times, it has a slot.
void waits_for_a_slot(cotenant::protocol::WelcomeStatus status) {
  Agent agent;
  agent.status = status;
  agent.reason = "the GPU is too hot.";
  agent.become("best-effort");
  OK(cuda().cuInit(0));
  std::thread changes([&] {
    eventually([&] { return agent.connections() >= 2; }, "it asks again");
    agent.reason = "all slots are taken.";
    eventually([&] { return agent.connections() >= 5; }, "and again");
    agent.status = cotenant::protocol::WelcomeStatus::kOk;
  });
  const std::string said = told([] {
    Program program;
    CUstream stream = make_stream();
    program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
  });
  changes.join();
  expect(agent.welcomed() == 1, "it attaches once");
  const std::string waits = "cotenant: this best-effort client waits at its first use of the GPU: ";
  expect(said.find(waits + "the GPU is too hot.\n" + waits + "all slots are taken.\n" +
                   "cotenant: this best-effort client goes on after a wait of ") == 0,
         "one line for each reason, and one at its end: " + said);
}

void waits_while_its_gpu_takes_none() { waits_for_a_slot(cotenant::protocol::WelcomeStatus::kLater); }
void waits_while_slots_are_taken() { waits_for_a_slot(cotenant::protocol::WelcomeStatus::kFull); }

void stops_waiting_when_refused_for_good() {
  Agent agent;
  agent.status = cotenant::protocol::WelcomeStatus::kLater;
  agent.become("best-effort");
  CUcontext context = nullptr;
  OK(cuda().cuInit(0));
  std::thread changes([&] {
    eventually([&] { return agent.connections() >= 2; }, "it asks again");
    agent.status = cotenant::protocol::WelcomeStatus::kRefused;
  });
  expect(cuda().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_NOT_PERMITTED, "no slot ever, no GPU");
  changes.join();
}

// A process that waits for a slot has no handler for signals yet.
void a_signal_ends_the_wait() {
  const pid_t child = fork();
  if (child == 0) {
    Agent agent;
    agent.status = cotenant::protocol::WelcomeStatus::kLater;
    agent.become("best-effort");
    std::thread ends([&] {
      eventually([&] { return agent.connections() >= 2; }, "it waits");
      kill(getpid(), SIGTERM);
    });
    Program program;
    _exit(0);
  }
  int status = 0;
  eventually([&] { return waitpid(child, &status, WNOHANG) == child; }, "the process ends");
  expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "with the signal's own status");
}

void noise_in_memory() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  auto* bytes = reinterpret_cast<unsigned char*>(&client.agent.region());
  unsigned seed = 7;
  for (int round = 0; round < 15; ++round) {
    for (std::size_t i = 0; i < sizeof(Region); i += 1 + static_cast<unsigned>(rand_r(&seed)) % 64)
      bytes[i] = static_cast<unsigned char>(rand_r(&seed));
    const std::uint64_t before = now_ms();
    for (int i = 0; i < 5; ++i) client.program.run_us(50, stream);
    OK(cuda().cuStreamSynchronize(stream));
    expect(now_ms() - before < kHangMs, "work goes on at least at minimum progress whatever shared memory holds");
  }
}

// SIGTERM without a handler of the application: what is queued finishes, then the default action.
void leaves_on_a_signal() {
  const pid_t child = fork();
  if (child == 0) {
    BestEffort client;
    CUstream stream = make_stream();
    client.warm(50, stream);
    std::fprintf(stderr, "ready\n");
    for (;;) client.program.run_us(50, stream);
  }
  sleep_ms(1'000);
  kill(child, SIGTERM);
  int status = 0;
  eventually([&] { return waitpid(child, &status, WNOHANG) == child; }, "the process leaves");
  expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "with the signal's own status");
}

// A program that the default action does not end goes on: a launch that is held for leaving takes 5 s.
void launch_after_sigterm() {
  Program program;
  CUstream stream = make_stream();
  program.run_us(50, stream);
  OK(cuda().cuStreamSynchronize(stream));
  kill(getpid(), SIGTERM);
  sleep_ms(300);  // for the helper thread to notice
  for (int i = 0; i < 10; ++i) program.run_us(50, stream);
  OK(cuda().cuStreamSynchronize(stream));
  _exit(0);
}

// Without a handler the kernel keeps SIGTERM from the first process of a PID namespace.
void first_process_stays() {
  setenv("COTENANT_CLASS", "best-effort", 1);
  setenv("COTENANT_SOCKET", "/tmp/no-agent-here.sock", 1);
  if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
    std::fprintf(stderr, "SKIPPED: this machine makes no PID namespaces for us.\n");
    return;
  }
  const pid_t child = fork();
  if (child == 0) launch_after_sigterm();
  int status = 0;
  eventually([&] { return waitpid(child, &status, WNOHANG) == child; }, "its launches go on after SIGTERM");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it was not ended by the signal");
}

// A debugger that lets the first SIGTERM through to us and keeps the one by which we would end the process.
void kept_by_a_debugger() {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    BestEffort client;
    launch_after_sigterm();
  }
  int status = 0;
  int seen = 0;
  const auto ended = [&] {
    if (waitpid(child, &status, WNOHANG) != child) return false;
    if (!WIFSTOPPED(status)) return true;
    const int signal = WSTOPSIG(status);
    const bool kept = signal == SIGTERM && ++seen == 2;
    ptrace(PTRACE_CONT, child, nullptr, kept ? 0L : static_cast<long>(signal));
    return false;
  };
  eventually(ended, "its launches go on");
  expect(seen == 2, "it wanted to leave with the signal");
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "and did not");
}

void application_handler_goes_first() {
  static std::atomic<bool> handled{false};
  std::signal(SIGTERM, [](int) { handled = true; });
  BestEffort client;
  CUstream stream = make_stream();
  client.program.run_us(50, stream);
  OK(cuda().cuStreamSynchronize(stream));
  std::raise(SIGTERM);
  eventually([] { return handled.load(); }, "the application's handler is called");
  client.program.run_us(50, stream);
  OK(cuda().cuStreamSynchronize(stream));
}

// Descriptors of the program are not ours to close, and least of all the first ones, which it counts on.
template <class Client>
void descriptors_of_the_program_stay() {
  int ends[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && dup2(ends[0], 0) == 0, "standard input is a socket");
  expect(write(ends[1], "hello", 5) == 5, "from which the program has something to read");
  Client client;
  CUstream stream = make_stream();
  client.program.run_us(100, stream);
  sleep_ms(300);  // the helper thread has looked for an agent by then
  client.program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  char said[8];
  expect(read(0, said, sizeof said) == 5, "it is open, and nothing was read from it");
}

// The bit of a high client that was killed while busy, with no agent to clear it. It beat before.
void dead_high_client_is_buried() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(100, stream);
  client.agent.page().high[3].beats = 5;
  client.agent.page().active.fetch_or(1u << 3);
  client.agent.page().word.store(1);
  for (int i = 0; i < 20; ++i) client.program.run_us(100, stream);
  eventually([&] { return client.agent.page().active.load() == 0; }, "the dead client's bit is cleared");
  OK(cuda().cuStreamSynchronize(stream));
}

// The agent was killed, and what came after it accepts and is silent. The client waits for its answer, and tries again
// when it has waited long: in that time its helper thread has holds to open.
void silent_agent() {
  BestEffort client;
  CUstream stream = make_stream();
  client.agent.region().settings.resumeDelayUs = 150;
  client.warm(50, stream);
  client.agent.fall_silent();
  constexpr int kRequests = 3;
  // A machine may be so slow that half a second is over before three requests are: then while the next one is tried.
  int served = 0;
  for (int tries = 0; served < kRequests && tries < 20; ++tries) {
    eventually([&] { return client.agent.unanswered() > client.agent.given_up(); }, "the client tries again");
    const int before = client.agent.given_up();
    for (served = 0; served < kRequests && client.agent.given_up() == before; ++served) {
      client.request_begins();
      for (int i = 0; i < 10; ++i) client.program.run_us(50, stream);
      client.request_ends_later();
      OK(cuda().cuStreamSynchronize(stream));
    }
    if (client.agent.given_up() != before) served = 0;
  }
  expect(served == kRequests, "work goes on after each request while the agent's answer is awaited");
}

// For `told`.
std::string told_so_far() {
  char text[2000];
  const ssize_t n = pread(2, text, sizeof text, 0);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

// An agent that gets no CPU time is there, and a client that it answers later is attached without being started again.
void attaches_when_a_busy_agent_answers(const char* kind, const std::string& until, const std::string& then) {
  Agent agent;
  agent.answers_after_ms = 1'500;
  agent.become(kind);
  const std::string said = told([&] {
    Program program;
    CUstream stream = make_stream();
    program.run_us(100, stream);
    OK(cuda().cuStreamSynchronize(stream));
    eventually([&] { return told_so_far().find(then) != std::string::npos; }, "it has a slot, and says so");
    expect(agent.welcomed() > 0, "and it has one");
  });
  expect(said.find(" is busy: it has not answered within 500 ms. ") != std::string::npos,
         "the cause is named: " + said);
  expect(said.find("Until then " + until + ".\n") != std::string::npos, "and what it means: " + said);
  expect(said.find("the agent has answered: this " + then + ".\n") != std::string::npos, "and its end: " + said);
  expect(said.find("start one") == std::string::npos, "nobody is told to start another agent: " + said);
}

void busy_agent_protects_later() {
  attaches_when_a_busy_agent_answers("high", "this high client runs unprotected", "high client is protected now");
}

void busy_agent_gives_a_slot_later() {
  attaches_when_a_busy_agent_answers("best-effort", "best-effort work runs at minimum progress",
                                     "best-effort client has its slot now");
}

// The program runs by then, so only its stderr can say why it never gets a slot.
void busy_agent_refuses_later(const char* kind, const std::string& sentence) {
  Agent agent;
  agent.status = cotenant::protocol::WelcomeStatus::kRefused;
  agent.reason = "uid 1000 gets no slot here.";
  agent.answers_after_ms = 1'500;
  agent.become(kind);
  const std::string said = told([&] {
    Program program;
    agent.answers_after_ms = 0;
    eventually([&] { return told_so_far().find(sentence) != std::string::npos; }, "it names the reason");
    const int before = agent.connections();
    eventually([&] { return agent.connections() >= before + 2; }, "it asks again");
  });
  expect(said.find(sentence) == said.rfind(sentence), "and names it once: " + said);
}

void busy_agent_refuses_a_service_later() {
  busy_agent_refuses_later("high",
                           "cotenant: the agent refuses this high client: uid 1000 gets no slot here. It runs "
                           "unprotected until it has a slot.\n");
}
void busy_agent_refuses_a_training_later() {
  busy_agent_refuses_later("best-effort",
                           "cotenant: the agent refuses this best-effort client: uid 1000 gets no slot here.\n");
}

// An agent that is too busy to hear all who come back tells some of them to ask later: their slots stay theirs.
void slot_is_asked_for_again() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  client.agent.status = cotenant::protocol::WelcomeStatus::kLater;
  const int before = client.agent.connections();
  client.agent.hang_up();
  eventually([&] { return client.agent.connections() >= before + 3; }, "it asks again");
  expect(client.agent.last_kind == cotenant::protocol::HelloKind::kReattach, "for the slot that it has");
  client.agent.status = cotenant::protocol::WelcomeStatus::kOk;
  eventually([&] { return client.agent.welcomed() >= 2; }, "it has it again");
}

// An agent that has gone and one that comes back serve the same region.
void connection_is_made_again() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(50, stream);
  const int before = client.agent.connections();
  client.agent.hang_up();
  eventually([&] { return client.agent.connections() > before; }, "the client says hello again");
  client.warm(50, stream);
  expect(client.agent.welcomed() == 2, "it has its slot");
  expect(client.agent.last_kind == cotenant::protocol::HelloKind::kReattach, "it asked for the slot that it had");
}

constexpr Case kCases[] = {
    {"without an agent work runs at minimum progress", without_an_agent_it_crawls},
    {"an agent of an older version is named, and work runs at minimum progress", agent_of_an_older_version_is_named},
    {"an agent of a newer version is named, and work runs at minimum progress", agent_of_a_newer_version_is_named},
    {"a client that finds no slot gets no GPU", refused_by_the_agent},
    {"while its GPU takes no best-effort client it waits", waits_while_its_gpu_takes_none},
    {"while all slots are taken it waits", waits_while_slots_are_taken},
    {"a refusal for good ends the wait", stops_waiting_when_refused_for_good},
    {"a signal ends the wait", a_signal_ends_the_wait},
    {"noise in shared memory never stops a best-effort client", noise_in_memory},
    {"a signal without a handler ends the process after its work", leaves_on_a_signal},
    {"the first process of a container does not leave on a signal that the kernel keeps from it", first_process_stays},
    {"a process from which a debugger keeps the signal goes on", kept_by_a_debugger},
    {"an application's own signal handler goes first", application_handler_goes_first},
    {"a best-effort program's standard input stays its own", descriptors_of_the_program_stay<BestEffort>},
    {"a high program's standard input stays its own", descriptors_of_the_program_stay<High>},
    {"the bit of a killed high client is cleared without an agent", dead_high_client_is_buried},
    {"an agent that accepts and never answers holds up no work", silent_agent},
    {"a high client that a busy agent answers late is protected from then on, and says both",
     busy_agent_protects_later},
    {"a best-effort client that a busy agent answers late has its slot from then on, and says both",
     busy_agent_gives_a_slot_later},
    {"a service that a busy agent refuses late reads why, once", busy_agent_refuses_a_service_later},
    {"a training that a busy agent refuses late reads why, once", busy_agent_refuses_a_training_later},
    {"a client that a busy agent sends away asks for its own slot again", slot_is_asked_for_again},
    {"a client whose agent hung up asks for its slot again", connection_is_made_again},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
