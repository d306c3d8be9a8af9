// How much host memory a client pins, where the host or its control groups have little.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "client.h"

using namespace harness;

namespace {

// Files that this process reads in place of those of /proc and /sys. Made before any other thread, because each thread has a view
// of its own.
class View {
 public:
  View() : allowed_(make()) {
    if (!allowed_) std::fprintf(stderr, "SKIPPED: this machine makes no mount namespaces for us.\n");
  }
  ~View() { std::filesystem::remove_all(path_); }

  bool allowed() const { return allowed_; }
  void available_gib(unsigned gib) { write("meminfo", memory_of_gib(gib)); }
  void make_folder(const std::string& name) { std::filesystem::create_directories(path_ + ("/" + name)); }
  void write(const std::string& name, const std::string& text) {
    FILE* file = std::fopen((path_ + ("/" + name)).c_str(), "w");
    expect(file, "it can be written");
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }

 private:
  static std::string memory_of_gib(unsigned gib) {
    return "MemTotal: 16777216 kB\nMemAvailable: " + std::to_string(gib << 20) + " kB\n";
  }
  bool make() {
    expect(mkdtemp(path_), "a folder is made");
    write("meminfo", memory_of_gib(8));
    write("cgroup", "");
    make_folder("groups");
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    return show("meminfo", "/proc/meminfo") && show("cgroup", "/proc/self/cgroup") && show("groups", "/sys/fs/cgroup");
  }
  bool show(const char* name, const char* at) {
    return mount((path_ + std::string("/") + name).c_str(), at, nullptr, MS_BIND, nullptr) == 0;
  }

  char path_[64] = "/tmp/cotenant-view-XXXXXX";
  bool allowed_;
};

struct Job {
  Movable client;
  CUdeviceptr made[5];

  Job() {
    for (unsigned i = 0; i < 5; ++i) {
      made[i] = allocate(128 * kMiB);
      write(made[i], pattern(kMiB, i));
    }
  }
  std::size_t pinned() { return client.memory().pinnedBytes.load(); }
  void pins_all() {
    eventually([&] { return pinned() == 640 * kMiB; }, "host memory is pinned for all of it");
  }
  void gives_back() {
    eventually([&] { return pinned() == 128 * kMiB; }, "what is not used is given back");
  }
  void park_one() {
    client.parked(100 * kMiB);
    expect(client.memory().parkedBytes.load() == 128 * kMiB, "one block is parked");
  }
  void returned() {
    client.returned();
    for (unsigned i = 0; i < 5; ++i) expect(holds(made[i], pattern(kMiB, i)), "every byte is back");
  }
};

void host_with_little() {
  View view;
  if (!view.allowed()) return;
  Job job;
  job.pins_all();
  job.park_one();
  sleep_ms(300);
  expect(job.pinned() == 640 * kMiB, "the rest stays pinned while the host has memory");
  view.available_gib(1);  // which is the reserve for others
  job.gives_back();
  job.returned();
  view.available_gib(8);
  job.pins_all();
  job.client.parked();
  job.returned();
}

// Its use is anonymous memory but for `cache_gib`, the page cache of files.
struct Group {
  const char* folder;
  bool first_version;
  unsigned limit_gib = 16;  // so that its reserve is 1 GiB

  void uses(View& view, unsigned gib, unsigned cache_gib) const {
    const auto bytes = [](std::uint64_t of) { return std::to_string(of << 30) + "\n"; };
    const std::string total = first_version ? "total_" : "";
    write(view, first_version ? "memory.limit_in_bytes" : "memory.max", bytes(limit_gib));
    write(view, "memory.stat",
          "anon 0\n" + total + "inactive_file " + bytes(cache_gib - cache_gib / 2) + total + "active_file " +
              bytes(cache_gib / 2));
    write(view, first_version ? "memory.usage_in_bytes" : "memory.current", bytes(gib));
  }
  void write(View& view, const char* name, const std::string& text) const {
    view.write(folder + ("/" + std::string(name)), text);
  }
};

// `groups`: what the kernel says of the process's own.
void group_with_little(const char* groups, const Group& group) {
  View view;
  if (!view.allowed()) return;
  view.make_folder(group.folder);
  view.write("cgroup", groups);
  group.uses(view, 16, 3);
  Job job;
  job.pins_all();  // though the page cache has filled the group
  job.park_one();
  group.uses(view, 16, 1);
  job.gives_back();
  job.returned();
  group.uses(view, 1, 0);
  job.pins_all();
}

void own_group() { group_with_little("0::/jobs/train\n", {"groups/jobs/train", false}); }
void group_above() { group_with_little("0::/jobs/train\n", {"groups/jobs", false}); }
void container() { group_with_little("0::/\n", {"groups", false}); }
void own_group_1() {
  group_with_little("9:name=systemd:/\n4:cpu,memory:/jobs/train\n0::/elsewhere\n", {"groups/memory/jobs/train", true});
}
void container_1() {
  group_with_little("9:name=systemd:/\n4:memory:/kubepods/pod/train\n0::/\n", {"groups/memory", true});
}

// A client in a container, with little memory on the GPU.
struct SmallJob {
  Movable client;
  const std::vector<unsigned> words = pattern(4 * kMiB, 1);
  const CUdeviceptr made = allocate(4 * kMiB);

  SmallJob() { write(made, words); }
  void is_unchanged() { expect(holds(made, words), "every byte is there"); }
};

void group_without_memory() {
  View view;
  if (!view.allowed()) return;
  const Group group{"groups", false};
  view.make_folder(group.folder);
  group.uses(view, 16, 1);
  SmallJob job;
  job.client.park();
  expect(job.client.state() == cotenant::protocol::ParkState::kOpen, "it is not parked");
  expect(std::string(job.client.memory().parkReason).find("host memory") != std::string::npos, "and says why");
  job.is_unchanged();
}

void small_group() {
  View view;
  if (!view.allowed()) return;
  const Group group{"groups", false, 1};
  view.make_folder(group.folder);
  group.uses(view, 0, 0);
  SmallJob job;
  job.client.parked();
  job.client.returned();
  job.is_unchanged();
}

constexpr Case kCases[] = {
    {"a parked client gives back host memory that it does not use where the host has little", host_with_little},
    {"the page cache of its control group counts as memory that is left", own_group},
    {"the control group above it has a limit", group_above},
    {"a container sees its control group as the root", container},
    {"a control group of version 1 has a limit", own_group_1},
    {"a container sees its control group of version 1 as the root", container_1},
    {"a client in a control group of 1 GiB is parked", small_group},
    {"a control group without memory: nothing is parked, and it says why", group_without_memory},
};

}  // namespace

int main(int count, char** arguments) { return run_case(kCases, count, arguments); }
