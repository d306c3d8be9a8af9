// A library that is linked with the driver and calls what is not known here (lib/linked.cpp). No lookup is seen.
#include "../fixture.h"

using namespace harness;

namespace {

using Begin = CUresult (*)(CUstream, CUstreamCaptureMode);

Begin begin_of_library() {
  void* library = dlopen(std::getenv("LINKED_LIBRARY"), RTLD_NOW);
  if (!library) fail(dlerror());
  return reinterpret_cast<Begin>(dlsym(library, "begin_later_capture"));
}

void expect_only_kernels(CUstream stream, std::size_t count) {
  CUgraph graph = nullptr;
  OK(cuda().cuStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  OK(cuda().cuGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == count,
         "the program's " + std::to_string(count) + " kernels, not " + std::to_string(nodes) + " nodes");
}

void a_capture_gets_nothing_of_ours() {
  const Begin begin = begin_of_library();
  BestEffort* client = nullptr;
  const std::string said = told([&] { client = new BestEffort; });
  expect(
      said.find("cuStreamBeginLaterCapture is not known to this version of Cotenant, and this program is linked with "
                "it") != std::string::npos,
      "the function is named: " + said);
  CUstream stream = make_stream();
  client->warm(200, stream);
  OK(begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < 60; ++i) client->program.run_us(200, stream);
  expect_only_kernels(stream, 60);
}

// It is seen when the next context is made.
void a_library_that_comes_later() {
  BestEffort client;
  CUstream stream = make_stream();
  client.warm(200, stream);
  const Begin begin = begin_of_library();
  CUcontext other = nullptr;
  OK(cuda().cuCtxCreate_v2(&other, 0, 0));
  OK(cuda().cuCtxSetCurrent(client.program.context));
  OK(begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < 60; ++i) client.program.run_us(200, stream);
  expect_only_kernels(stream, 60);
}

// This program's own calls are all looked up, and nothing else is linked with the driver.
void nothing_is_said_without() {
  const std::string said = told([] { BestEffort client; });
  expect(said.empty(), "nothing is said: " + said);
}

constexpr Case kCases[] = {
    {"a capture that a linked function begins gets nothing of ours", a_capture_gets_nothing_of_ours},
    {"nor does one by a library that comes after the first context", a_library_that_comes_later},
    {"nothing is said of a program that is linked with nothing unknown", nothing_is_said_without},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
