// A program that has initialised the system's driver and opens a newer one by its path, as a package of CUDA's for older
// systems brings it (lib/outer.cpp).
#include "../fixture.h"

using namespace harness;

namespace {

// The newer driver's function of a name, and the output meanwhile.
struct Lookup {
  std::string said;
  void* found = nullptr;
  std::string file;
};
Lookup look_up_in_newer(const char* name) {
  Lookup lookup;
  void* newer = dlopen(std::getenv("NEWER_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  expect(newer && newer != cuda().library, "another driver");
  lookup.said = told([&] { lookup.found = dlsym(newer, name); });
  Dl_info info{};
  expect(lookup.found && dladdr(lookup.found, &info) != 0, "the name leads somewhere");
  lookup.file = info.dli_fname;
  return lookup;
}

void a_service_gets_the_newer() {
  High client;
  CUstream stream = make_stream();
  client.program.run_us(100, stream);
  OK(cuda().cuStreamSynchronize(stream));
  const Lookup lookup = look_up_in_newer("cuMemGetInfo_v2");
  expect(lookup.file == std::getenv("NEWER_DRIVER"), "the service goes on with the newer one, not with " + lookup.file);
  expect(lookup.said.find("is a second driver beside") != std::string::npos &&
             lookup.said.find("is not protected") != std::string::npos,
         "it reads that this is not protected: " + lookup.said);
  std::size_t free = 0;
  std::size_t total = 0;
  OK(reinterpret_cast<CUresult (*)(std::size_t*, std::size_t*)>(lookup.found)(&free, &total));
  expect(total > 0, "the function works");
  const auto caveats = [&] { return client.agent.region().high[0].caveats.load(); };
  eventually([&] { return caveats() == static_cast<unsigned>(cotenant::protocol::Caveat::kPastUs); },
             "the agent learns it");
  client.program.run_us(20'000, stream);
  client.busy("with work of the first driver, which is protected as before");
  OK(cuda().cuStreamSynchronize(stream));
  client.idle("afterwards");
}

void a_best_effort_client_stays_with_the_first() {
  BestEffort client;
  const Lookup lookup = look_up_in_newer("cuLaunchKernel");
  expect(lookup.found == reinterpret_cast<void*>(cuda().cuLaunchKernel), "it gets the first driver's function");
  expect(lookup.said.find("calls of the second one go to the first") != std::string::npos,
         "it reads so: " + lookup.said);
}

constexpr Case kCases[] = {
    {"a service that opens a newer driver goes on with it, and reads what is not protected", a_service_gets_the_newer},
    {"a best-effort client that opens a newer driver stays with the first", a_best_effort_client_stays_with_the_first},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
