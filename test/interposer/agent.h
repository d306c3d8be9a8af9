// An agent in a thread of the test program itself, so that a test reads and writes shared memory directly.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "expect.h"
#include "generated/rules.h"
#include "interposer/base/descriptor.h"

namespace harness {

using cotenant::protocol::Region;

// The test runner gives each case a directory and removes it afterwards.
inline std::string socket_path() {
  const char* directory = getenv("COTENANT_SOFTGPU_DIR");
  return std::string(directory ? directory : "/tmp") + "/agent-" + std::to_string(getpid()) + ".sock";
}

// Serves one GPU to the clients of this process, with the rules that users get: one best-effort client, and one high
// client at a time.
class Agent {
 public:
  enum Kind { kUsual, kOtherRegion };  // the second asks clients of an earlier agent to attach again

  explicit Agent(Kind kind = kUsual) : kind_(kind) {
    region_ =
        static_cast<Region*>(mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    common_ = put(region_, offsetof(Region, holds));
    hold_ = put(&region_->holds[0], sizeof region_->holds[0]);
    high_ = put(&region_->high[0], sizeof region_->high[0]);
    best_effort_ = put(&region_->bestEffort[0], sizeof region_->bestEffort[0]);
    region_->roster.bestEffort = 1;
    cotenant::protocol::set_strict_rules(region_->settings);
    region_->header.version = cotenant::protocol::VERSION;
    region_->header.revision = cotenant::protocol::REVISION;
    region_->header.size = sizeof(Region);
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

  // A module's text with the variants of its kernels: `soft`, or what the command in
  // COTENANT_TEST_PASS (`COMMAND IN --out OUT`) makes of it.
  static std::string with_variants(const std::string& text, const std::string& soft) {
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
  // On the latest client, not on who asks for a variant: on a busy machine any kernel may seem long.
  void hang_up() const { shutdown(latest_.load(), SHUT_RDWR); }
  // Number of connections since then, and of those that have given up.
  int unanswered() const { return unanswered_.load(); }
  int given_up() const { return given_up_.load(); }

  Region& region() { return *region_; }
  // How the best-effort client is held.
  cotenant::protocol::HoldPage& page() { return region_->holds[0]; }
  // How often a client got its slot.
  int welcomed() const { return welcomed_.load(); }
  int connections() const { return connections_.load(); }

  // The welcome's status; tests of refusals change it.
  std::atomic<cotenant::protocol::WelcomeStatus> status{cotenant::protocol::WelcomeStatus::kOk};
  std::atomic<std::uint32_t> version{cotenant::protocol::VERSION};
  std::atomic<int> slot{0};
  std::atomic<const char*> reason{""};
  // The time before each answer, as of an agent that gets little CPU time.
  std::atomic<unsigned> answers_after_ms{0};
  // The last question, and whether it was for a GPU that the client does not use.
  std::atomic<cotenant::protocol::HelloKind> last_kind{};
  std::atomic<bool> last_holds_only{false};
  // The answer to a client that asks for a variant of a kernel; empty: it is refused.
  std::string variant;
  // The last request for a variant: the kernel's name and the bytes of its image.
  std::string asked_for;
  std::string asked_with;
  std::atomic<int> asked{0};

 private:
  // A file of the agent in its place.
  static int put(void* place, std::size_t size) {
    const int fd = memfd_create("cotenant-test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (ftruncate(fd, static_cast<off_t>(size)) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != place)
      fail("memfd");
    return fd;
  }

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
    if (stops_inside || variant.find("__cotenant_slice") != std::string::npos)
      variant = with_variants(asked_with, variant);
    const int fd = memfd_create("variant", MFD_CLOEXEC);
    if (write(fd, variant.data(), variant.size()) != static_cast<ssize_t>(variant.size())) fail("memfd");
    asked.fetch_add(1);
    return fd;
  }

  void serve() {
    for (;;) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
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
      cotenant::Descriptors came;
      if (cotenant::receive_with_descriptors(client, &hello, sizeof hello, came, MSG_WAITALL) !=
          static_cast<ssize_t>(sizeof hello))
        continue;
      last_kind = static_cast<cotenant::protocol::HelloKind>(hello.kind);
      last_holds_only = hello.holdsOnly == 1;
      connections_.fetch_add(1);
      usleep(answers_after_ms * 1000);
      cotenant::protocol::Welcome welcome{};
      welcome.magic = cotenant::protocol::MESSAGE_MAGIC;
      welcome.version = version;
      welcome.status = static_cast<std::uint32_t>(status.load());
      welcome.slot = slot;
      std::snprintf(welcome.reason, sizeof welcome.reason, "%s", reason.load());
      if (hello.kind == static_cast<std::uint32_t>(cotenant::protocol::HelloKind::kVariant)) {
        const int made = answer_variant(came.count > 0 ? came.fds[0] : -1);
        if (variant.empty()) welcome.status = static_cast<std::uint32_t>(cotenant::protocol::WelcomeStatus::kRefused);
        const cotenant::Descriptors answer{{made}, made < 0 ? 0u : 1u};
        if (cotenant::send_with_descriptors(client, &welcome, sizeof welcome, answer, MSG_NOSIGNAL) < 0) close(client);
        close(made);
        cotenant::close_all(came);
        continue;
      }
      latest_ = client;
      if (hello.kind == static_cast<std::uint32_t>(cotenant::protocol::HelloKind::kReattach) && kind_ == kOtherRegion)
        welcome.status = static_cast<std::uint32_t>(cotenant::protocol::WelcomeStatus::kAttachAnew);
      const bool high = hello.class_ == static_cast<std::uint32_t>(cotenant::protocol::Class::kHigh);
      cotenant::Descriptors files{};
      if (welcome.status == static_cast<std::uint32_t>(cotenant::protocol::WelcomeStatus::kOk)) {
        if (high) region_->roster.registered = 1;
        files = {{common_, high ? high_ : best_effort_, hold_}, 3};
        welcome.holds = 1;
      }
      cotenant::close_all(came);
      if (files.count > 0) welcomed_.fetch_add(1);  // before the client can know it
      if (cotenant::send_with_descriptors(client, &welcome, sizeof welcome, files, MSG_NOSIGNAL) < 0) close(client);
    }
  }

  Kind kind_;
  int common_ = -1;
  int hold_ = -1;
  int high_ = -1;
  int best_effort_ = -1;
  std::atomic<int> welcomed_{0};
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

}  // namespace harness
