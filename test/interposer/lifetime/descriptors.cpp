// Programs that close descriptors which they did not open, and open their own under the same numbers.
#include <dirent.h>
#include <sys/wait.h>

#include "../fixture.h"

using namespace harness;

namespace {

// The library moves its descriptors to these numbers. The agent of the test is in the same process and has lower ones, the
// software GPU a higher one.
constexpr int kOwnFrom = 300;
constexpr int kOwnTo = 399;

std::vector<int> numbers_of_the_library() {
  std::vector<int> found;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory))
    if (const int number = std::atoi(entry->d_name); number >= kOwnFrom && number <= kOwnTo) found.push_back(number);
  closedir(directory);
  return found;
}

// As after closefrom(3): the program's sockets have the numbers of the library, and each has unread bytes.
class Sockets {
 public:
  Sockets() {
    for (const int number : numbers_of_the_library()) {
      int ends[2];
      expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket pair");
      expect(write(ends[1], "program", 7) == 7, "bytes for the program");
      expect(dup2(ends[0], number) == number, "the number is the program's");
      close(ends[0]);
      pairs_.push_back({number, ends[1]});
    }
    expect(!pairs_.empty(), "the library had descriptors");
  }
  ~Sockets() {
    for (const auto& [number, other] : pairs_) close(number), close(other);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  void expect_untouched(const char* when) const {
    for (const auto& [number, other] : pairs_) {
      char bytes[64];
      const auto peek = [&](int from) { return recv(from, bytes, sizeof bytes, MSG_DONTWAIT | MSG_PEEK); };
      expect(peek(number) == 7, std::string("nobody else reads the program's bytes ") + when);
      expect(peek(other) < 0 && errno == EAGAIN, std::string("nobody writes to it or closes it ") + when);
    }
  }

 private:
  struct Pair {
    int number;
    int other;
  };
  std::vector<Pair> pairs_;
};

// The kernels of is_held(), whose duration is known then.
void warm_stores(BestEffort& client, CUstream stream, const Word& word) {
  for (int i = 0; i < 40; ++i) {
    client.program.store_us(200, word.device, 0, stream);
    if (i % 4 == 3) OK(cuda().cuStreamSynchronize(stream));
  }
}

bool is_held(BestEffort& client, Agent& by, CUstream stream, const Word& word) {
  const unsigned before = *word.host;
  by.page().active.fetch_or(BestEffort::kRequest);
  by.page().word = 1;
  for (unsigned i = 1; i <= 20; ++i) client.program.store_us(200, word.device, before + i, stream);
  sleep_ms(100);
  const bool held = *word.host < before + 20;
  by.page().active.fetch_and(~BestEffort::kRequest);
  by.page().word = 0;
  OK(cuda().cuStreamSynchronize(stream));
  return held && *word.host == before + 20;
}

void best_effort_work_is_held_again() {
  BestEffort client;
  CUstream stream = make_stream();
  const Word word;
  warm_stores(client, stream, word);
  client.agent.region().settings.progressAfterUs = kMaxProgressUs;
  expect(is_held(client, client.agent, stream, word), "held at first");
  // An agent gives new files to whoever attaches. So this one stands for the client's second time.
  Agent later;
  later.region().roster.registered = 1;
  later.region().settings.progressAfterUs = kMaxProgressUs;
  const std::string said = told([&] {
    Sockets sockets;
    eventually([&] { return later.welcomed() == 1; }, "the client attaches anew");
    expect(later.last_kind == cotenant::protocol::HelloKind::kAttach, "since it has no slot any more");
    eventually([&] { return is_held(client, later, stream, word); }, "a request holds the client again");
    sockets.expect_untouched("when the client attached anew");
    Sockets again;
    eventually([&] { return later.welcomed() == 2; }, "the client attaches a second time");
    again.expect_untouched("then");
  });
  const std::string sentence = "cotenant: this program has closed descriptors that it did not open";
  const std::size_t at = said.find(sentence);
  expect(at != std::string::npos && said.find(sentence, at + 1) == std::string::npos, "one line says so: " + said);
}

void best_effort_work_crawls_while_no_agent_answers() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(100, stream);
  client.agent.region().roster.registered = 0;  // with its slot the client would run at full speed
  client.agent.status = cotenant::protocol::WelcomeStatus::kLater;
  Sockets sockets;
  eventually([&] { return client.agent.connections() == 2; }, "the client asks for a slot");
  const std::uint64_t before = now_ms();
  for (int i = 0; i < 1000; ++i) client.program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  const std::uint64_t took = now_ms() - before;
  expect(took >= 150,
         "work without a slot runs at minimum progress, not at full speed: " + std::to_string(took) + " ms");
  sockets.expect_untouched("without a slot");
}

void a_service_holds_others_again() {
  High client;
  CUstream stream = make_stream();
  Sockets sockets;
  eventually([&] { return client.agent.welcomed() == 2; }, "the client attaches anew");
  expect(client.agent.last_kind == cotenant::protocol::HelloKind::kAttach, "since its slot's file is gone");
  client.program.run_us(20'000, stream);
  client.busy("while its kernel runs");
  OK(cuda().cuStreamSynchronize(stream));
  client.idle("afterwards");
  // The agent sends a control page over the connection.
  client.agent.region().roster.holdsVersion.fetch_add(1);
  sleep_ms(50);
  sockets.expect_untouched("when control pages come");
}

// The agent has hung up, and does not answer the client that asks for its slot.
void a_connection_that_was_closed_is_not_read() {
  High& client = *new High;  // its agent would wait for the client to give up
  client.agent.fall_silent();
  eventually([&] { return client.agent.unanswered() > 0; }, "the client asks for its slot");
  Sockets sockets;
  sleep_ms(300);
  sockets.expect_untouched("while the client waits for an answer");
}

// A context that is new needs pages of the client's memory. They are mapped from its files.
void a_new_context_maps_no_file_of_the_program() {
  BestEffort client;
  client.warm(50, make_stream());
  char path[] = "/tmp/cotenant-descriptors-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  const std::string content(64 << 10, 'p');
  expect(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "a file");
  for (const int number : numbers_of_the_library()) dup2(file, number);
  CUcontext context = nullptr;
  OK(cuda().cuCtxCreate_v2(&context, 0, 0));
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
  OK(cuda().cuModuleGetFunction(&spin, module, "spin"));
  std::uint64_t ns = 1000;
  void* parameters[] = {&ns};
  for (int i = 0; i < 100; ++i) OK(cuda().cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  OK(cuda().cuCtxSynchronize());
  std::string now(content.size(), '\0');
  expect(pread(file, now.data(), now.size(), 0) == static_cast<ssize_t>(now.size()) && now == content,
         "the program's file is as it was");
}

// A child closes what it inherits of the library. Forked at once, before the library has noticed anything.
void a_forked_child_keeps_the_programs_files() {
  BestEffort client;
  client.warm(50, make_stream());
  const Sockets sockets;
  const pid_t child = fork();
  if (child == 0) {
    sockets.expect_untouched("in the child");
    _exit(0);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child has them");
}

constexpr Case kCases[] = {
    {"best_effort_work_is_held_again", best_effort_work_is_held_again},
    {"best_effort_work_crawls_while_no_agent_answers", best_effort_work_crawls_while_no_agent_answers},
    {"a_service_holds_others_again", a_service_holds_others_again},
    {"a_connection_that_was_closed_is_not_read", a_connection_that_was_closed_is_not_read},
    {"a_new_context_maps_no_file_of_the_program", a_new_context_maps_no_file_of_the_program},
    {"a_forked_child_keeps_the_programs_files", a_forked_child_keeps_the_programs_files},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
