// What the interposer's test programs share: the driver's functions as an application finds them, an
// agent in a thread of the same process (so that a test sees and sets shared memory directly), and named
// cases that end with a sentence when something is not as it should be.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "driver/abi.h"
#include "generated/rules.h"
#include "interposer/base/descriptor.h"

namespace harness {

using namespace cotenant::cu;
using cotenant::protocol::Region;

[[noreturn]] inline void fail(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::fflush(stderr);
  _exit(1);
}

inline void expect(bool holds, const std::string& sentence) {
  if (!holds) fail("expected: " + sentence);
}

// The driver through dlsym, as ctypes, JAX or CuPy find it.
struct Cuda {
#define HOOK(symbol, params, args) CUresult(*symbol) params = nullptr;
#define CALL(symbol, params, args) CUresult(*symbol) params = nullptr;
#include "driver/entries.def"
#undef HOOK
#undef CALL
  void* library = nullptr;
};

inline Cuda& cuda() {
  static Cuda driver;
  if (driver.library) return driver;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver.library) fail(dlerror());
#define HOOK(symbol, params, args) \
  driver.symbol = reinterpret_cast<decltype(driver.symbol)>(dlsym(driver.library, #symbol));
#define CALL(symbol, params, args) HOOK(symbol, params, args)
#include "driver/entries.def"
#undef HOOK
#undef CALL
  return driver;
}

#define OK(call) harness::expect((call) == CUDA_SUCCESS, #call " succeeds")

// The test runner gives each case a directory and removes it afterwards.
inline std::string socket_path() {
  const char* directory = getenv("COTENANT_SOFTGPU_DIR");
  return std::string(directory ? directory : "/tmp") + "/agent-" + std::to_string(getpid()) + ".sock";
}

// Serves one region to the clients of this process, with the rules that users get.
class Agent {
 public:
  enum Kind { kUsual, kOtherRegion };  // the second asks clients of an earlier agent to move to its own region

  explicit Agent(Kind kind = kUsual) : kind_(kind) {
    fd_ = memfd_create("cotenant-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (ftruncate(fd_, sizeof(Region)) != 0 || fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) fail("memfd");
    region_ = static_cast<Region*>(mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    cotenant::protocol::set_strict_rules(region_->settings);
    region_->header.version = cotenant::protocol::VERSION;
    region_->header.size = sizeof(Region);
    struct stat info{};
    if (stat("/proc/self/ns/pid", &info) == 0) region_->header.pidNamespace = info.st_ino;
    region_->header.magic = cotenant::protocol::MAGIC;
    path_ = socket_path();
    unlink(path_.c_str());
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path_.c_str());
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 8) != 0)
      fail("cannot listen");
    std::thread([this] {
      serve();
      served_ = true;
    }).detach();
  }
  ~Agent() {
    if (getpid() != pid_) return;  // a forked child has no such thread
    end();
    while (!served_) usleep(100);
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void become(const char* client_class, const char* memory = "0") const {
    setenv("COTENANT_CLASS", client_class, 1);
    setenv("COTENANT_SOCKET", path_.c_str(), 1);
    setenv("COTENANT_MEMORY", memory, 1);
  }

  // A module's text with the forms of its kernels that can stop inside: `soft`, or what the command in
  // COTENANT_TEST_PASS (`COMMAND IN --out OUT`) makes of it.
  static std::string formed(const std::string& text, const std::string& soft) {
    const char* command = getenv("COTENANT_TEST_PASS");
    if (!command) return soft;
    const std::string in = socket_path() + ".ptx";
    const std::string out = socket_path() + ".out";
    std::FILE* file = std::fopen(in.c_str(), "w");
    if (!file || std::fputs(text.c_str(), file) < 0 || std::fclose(file) != 0) fail("cannot write " + in);
    // Not under the interposer.
    const std::string line = "env -u LD_PRELOAD " + std::string(command) + " " + in + " --out " + out + " >/dev/null";
    if (std::system(line.c_str()) != 0) fail("failed: " + line);
    std::string made(8u << 20, '\0');
    file = std::fopen(out.c_str(), "r");
    made.resize(file ? std::fread(made.data(), 1, made.size(), file) : 0);
    if (file) std::fclose(file);
    return made;
  }

  // As if it were killed: its region stays mapped in its clients.
  void end() const {
    shutdown(listener_, SHUT_RDWR);
    hang_up();
  }
  // From now on it accepts whoever comes, and answers nobody, as an agent does that was stopped. Who is connected is hung
  // up on.
  void fall_silent() {
    silent_ = true;
    hang_up();
  }
  void hang_up() const { shutdown(latest_.load(), SHUT_RDWR); }
  // Of those who came since: how many, and how many of them have given up.
  int unanswered() const { return unanswered_.load(); }
  int given_up() const { return given_up_.load(); }

  Region& region() { return *region_; }
  int connections() const { return connections_.load(); }

  // What the welcome says; tests of refusals change it.
  std::atomic<cotenant::protocol::WelcomeStatus> status{cotenant::protocol::WelcomeStatus::kOk};
  std::atomic<std::uint32_t> version{cotenant::protocol::VERSION};
  std::atomic<int> slot{0};
  std::atomic<const char*> reason{""};
  // What was asked last.
  std::atomic<cotenant::protocol::HelloKind> last_kind{};
  // What a client that asks for a form of a kernel that can stop inside is given; empty: it is refused.
  std::string variant;
  // What it was asked for last: the kernel's name and the bytes of its image.
  std::string asked_for;
  std::string asked_with;
  std::atomic<int> asked{0};

 private:
  // A memory file of ours with the variant in it.
  int answer_variant(int request_fd) {
    cotenant::protocol::VariantRequest request{};
    if (request_fd < 0) return -1;
    if (pread(request_fd, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request))
      fail("the request is short");
    asked_for.resize(request.nameBytes);
    asked_with.resize(request.imageBytes);
    if (pread(request_fd, asked_for.data(), asked_for.size(), sizeof request) !=
            static_cast<ssize_t>(asked_for.size()) ||
        pread(request_fd, asked_with.data(), asked_with.size(),
              static_cast<off_t>(sizeof request + asked_for.size())) != static_cast<ssize_t>(asked_with.size()))
      fail("the request is cut off");
    const bool stops_inside = variant.find("__cotenant_preempt") != std::string::npos;
    if (stops_inside || variant.find("__cotenant_slice") != std::string::npos) variant = formed(asked_with, variant);
    const int fd = memfd_create("variant", MFD_CLOEXEC);
    if (write(fd, variant.data(), variant.size()) != static_cast<ssize_t>(variant.size())) fail("memfd");
    asked.fetch_add(1);
    return fd;
  }

  void serve() {
    for (;;) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      latest_ = client;
      if (silent_) {
        unanswered_.fetch_add(1);
        char hello[1024];
        while (recv(client, hello, sizeof hello, 0) > 0) {
        }
        given_up_.fetch_add(1);
        close(client);
        continue;
      }
      cotenant::protocol::Hello hello{};
      int came = -1;
      if (cotenant::receive_with_descriptor(client, &hello, sizeof hello, came, MSG_WAITALL) !=
          static_cast<ssize_t>(sizeof hello))
        continue;
      last_kind = static_cast<cotenant::protocol::HelloKind>(hello.kind);
      connections_.fetch_add(1);
      cotenant::protocol::Welcome welcome{};
      welcome.magic = cotenant::protocol::MESSAGE_MAGIC;
      welcome.version = version;
      welcome.status = static_cast<std::uint32_t>(status.load());
      welcome.slot = slot;
      std::snprintf(welcome.reason, sizeof welcome.reason, "%s", reason.load());
      if (hello.kind == static_cast<std::uint32_t>(cotenant::protocol::HelloKind::kVariant)) {
        const int made = answer_variant(came);
        if (variant.empty()) welcome.status = static_cast<std::uint32_t>(cotenant::protocol::WelcomeStatus::kRefused);
        if (cotenant::send_with_descriptor(client, &welcome, sizeof welcome, made, MSG_NOSIGNAL) < 0) close(client);
        close(made);
        close(came);
        continue;
      }
      if (hello.kind == static_cast<std::uint32_t>(cotenant::protocol::HelloKind::kReattach) && kind_ == kOtherRegion)
        welcome.status = static_cast<std::uint32_t>(cotenant::protocol::WelcomeStatus::kNewRegion);
      const bool high = hello.class_ == static_cast<std::uint32_t>(cotenant::protocol::Class::kHigh);
      if (status == cotenant::protocol::WelcomeStatus::kOk) {
        if (high) {
          region_->high[slot].pid = hello.pid;
          region_->high[slot].startTime = hello.startTime;
          region_->high[slot].state = 1;
          region_->activity.registered.fetch_or(1u << slot);
        } else {
          region_->bestEffort[slot].state = 1;
        }
      }
      close(came);
      if (cotenant::send_with_descriptor(client, &welcome, sizeof welcome, fd_, MSG_NOSIGNAL) < 0) close(client);
    }
  }

  Kind kind_;
  int fd_ = -1;
  int listener_ = -1;
  Region* region_ = nullptr;
  std::string path_;
  std::atomic<int> connections_{0};
  std::atomic<int> latest_{-1};
  std::atomic<bool> silent_{false};
  std::atomic<int> unanswered_{0};
  std::atomic<int> given_up_{0};
  pid_t pid_ = getpid();
  std::atomic<bool> served_{false};
};

// `spin(ns)` takes the time it is told, `store(pointer, value, ns)` writes then. The comments are for the software GPU,
// which executes nothing; the code is for a real one, where bench/live runs these programs.
// These texts are never destroyed: to free a long one takes malloc's lock, and a program that exits in a signal's
// handler may have interrupted malloc. It would wait for itself, with the interposer or without.
inline const std::string& kPtxHead = *new std::string(".version 7.8\n.target sm_70\n.address_size 64\n");
// Lets as many ns pass as %until holds.
inline const std::string& kPtxWait = *new std::string(R"(
  mov.u64 %now, %globaltimer;
  add.u64 %until, %until, %now;
AGAIN:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %p, %now, %until;
  @%p bra AGAIN;
)");

inline const std::string& kKernels = *new std::string(kPtxHead + R"(
//! soft ns=p0
.visible .entry spin(.param .u64 ns)
{
  .reg .pred %p;
  .reg .b64 %now, %until;
  ld.param.u64 %until, [ns];
)" + kPtxWait + R"(
  ret;
}
//! soft ns=p2 effect=store(p0, p1)
.visible .entry store(.param .u64 at, .param .u32 value, .param .u64 ns)
{
  .reg .pred %p;
  .reg .b32 %block, %thread, %value;
  .reg .b64 %now, %until, %at;
  ld.param.u64 %until, [ns];
)" + kPtxWait + R"(
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  or.b32 %block, %block, %thread;
  setp.ne.u32 %p, %block, 0;
  @%p ret;
  ld.param.u64 %at, [at];
  ld.param.u32 %value, [value];
  st.relaxed.sys.u32 [%at], %value;
  ret;
}
)");

// A context on device 0, and the two kernels.
struct Program {
  CUcontext context = nullptr;
  CUfunction spin = nullptr;
  CUfunction store = nullptr;

  Program() {
    CUmodule module = nullptr;
    OK(cuda().cuInit(0));
    OK(cuda().cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuda().cuCtxSetCurrent(context));
    OK(cuda().cuModuleLoadData(&module, kKernels.c_str()));
    OK(cuda().cuModuleGetFunction(&spin, module, "spin"));
    OK(cuda().cuModuleGetFunction(&store, module, "store"));
  }

  void run_us(std::uint64_t us, CUstream stream, unsigned blocks = 132) const {
    std::uint64_t ns = us * 1000;
    void* parameters[] = {&ns};
    OK(cuda().cuLaunchKernel(spin, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  void store_us(std::uint64_t us, CUdeviceptr at, unsigned value, CUstream stream) const {
    std::uint64_t ns = us * 1000;
    void* parameters[] = {&at, &value, &ns};
    OK(cuda().cuLaunchKernel(store, 132, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
};

inline CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  OK(cuda().cuStreamCreate(&stream, flags));
  return stream;
}

inline CUevent make_event() {
  CUevent event = nullptr;
  OK(cuda().cuEventCreate(&event, 0));
  return event;
}

inline std::uint64_t now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000 + static_cast<std::uint64_t>(t.tv_nsec) / 1'000'000;
}

inline void sleep_ms(unsigned ms) { usleep(ms * 1000); }

// What takes longer than this never ends, however slow the machine is.
constexpr std::uint64_t kHangMs = 120'000;
// The longest pause before a trickle that the gate accepts: with it, whatever runs earlier was let go.
constexpr std::uint32_t kLongestTrickleUs = 1'000'000;

template <class Condition>
void eventually(Condition condition, const std::string& sentence) {
  const std::uint64_t until = now_ms() + kHangMs;
  while (!condition()) {
    if (now_ms() > until) fail("never happened: " + sentence);
    usleep(500);
  }
}

// What is written to stderr meanwhile.
template <class Do>
std::string told(Do act) {
  const int file = memfd_create("stderr", MFD_CLOEXEC);
  const int kept = dup(2);
  std::fflush(stderr);
  dup2(file, 2);
  act();
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  char text[1000] = "";
  const ssize_t n = pread(file, text, sizeof text - 1, 0);
  close(file);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

struct Case {
  const char* name;
  void (*run)();
};

// `prog` lists the cases; `prog NAME` runs one: exit status 0, or 1 and a sentence.
template <std::size_t N>
int run_case(const Case (&cases)[N], int count, char** arguments) {
  for (const Case& each : cases) {
    if (count < 2) std::printf("%s\n", each.name);
    else if (std::strcmp(each.name, arguments[1]) == 0) {
      each.run();
      std::fflush(nullptr);
      _exit(0);  // without the atexit handlers of a process whose agent is itself
    }
  }
  return count < 2 ? 0 : 2;
}

}  // namespace harness
