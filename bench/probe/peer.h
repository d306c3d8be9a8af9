// A client process as the parent sees it. Every wait is bounded; whoever does not answer is killed.
#pragma once
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "board.h"

class Peer {
 public:
  Peer(Board& board, int board_fd, int index, bool flat)
      : slot_(board.slot[index]), board_fd_(board_fd), index_(index), flat_(flat) {}
  ~Peer() { kill_now(); }
  Peer(const Peer&) = delete;

  // Starts the process if there is none; it answers when its context is up.
  void rise() {
    if (pid_ > 0) return;
    slot_.ready = slot_.command = slot_.reply = slot_.running = slot_.stop = 0;
    slot_.error[0] = 0;
    const std::string fd = std::to_string(board_fd_), index = std::to_string(index_);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // a lazy load would wait behind a parked stream
      if (!flat_) setenv("CUDA_MPS_CLIENT_PRIORITY", index_ == 0 ? "0" : "1", 1);
      execl("/proc/self/exe", "turnaround", "--client", fd.c_str(), index.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    await([&] { return slot_.ready != 0; }, 15, "to start");
  }

  void begin(const Order& order) {
    rise();
    slot_.order = order;
    slot_.running = slot_.stop = slot_.nsamples = slot_.nresumes = 0;
    slot_.work_ns = 0;
    slot_.active_us = 0;
    slot_.error[0] = slot_.text[0] = 0;
    slot_.command = slot_.command + 1;
  }
  void await_running(double seconds = 6) {
    await([&] { return slot_.running != 0 || slot_.reply == slot_.command; }, seconds, "to get going");
    if (slot_.running == 0) throw std::runtime_error(who() + " stopped before it got going: " + slot_.error);
  }
  bool answers_within(double seconds) {
    const double end = now_us() + seconds * 1e6;
    while (slot_.reply != slot_.command) {
      if (now_us() > end || gone()) return false;
      nap_us(50);
    }
    return true;
  }
  void finish(double seconds = 20) {
    await([&] { return slot_.reply == slot_.command; }, seconds, "to finish");
    if (slot_.error[0]) throw std::runtime_error(who() + ": " + slot_.error);
  }
  void end() {
    slot_.stop = 1;
    finish(10);
  }
  // Leaves in order; killed if it does not.
  void leave() {
    if (pid_ <= 0) return;
    Order order;
    begin(order);
    for (const double limit = now_us() + 4e6; !gone() && now_us() < limit;) nap_us(100);
    kill_now();
  }
  // Time from SIGKILL until the process is reaped; negative if it was not within 5 s.
  double kill_now() {
    if (pid_ <= 0) return 0;
    const double start = now_us();
    kill(pid_, SIGKILL);
    while (!gone()) {
      if (now_us() - start > 5e6) {
        pid_ = 0;
        return -1;
      }
      nap_us(50);
    }
    return now_us() - start;
  }

  bool alive() const { return pid_ > 0; }
  Slot& slot() { return slot_; }
  std::vector<double> latencies(double from_us = 0, double to_us = 1e18) const {
    std::vector<double> out;
    const uint32_t n = slot_.nsamples;
    for (uint32_t i = 0; i < n; ++i) {
      const Sample& sample = slot_.samples[i];
      if (sample.at_us + sample.us >= from_us && sample.at_us < to_us) out.push_back(sample.us);
    }
    return out;
  }
  std::vector<double> resumes() const {
    std::vector<double> out;
    const uint32_t n = slot_.nresumes;
    for (uint32_t i = 0; i < n; ++i) out.push_back(slot_.resumes[i].us);
    return out;
  }

 private:
  std::string who() const { return index_ == 0 ? "high client" : "best-effort client " + std::to_string(index_); }
  bool gone() {
    if (pid_ <= 0) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    pid_ = 0;
    return true;
  }
  template <typename Condition>
  void await(Condition met, double seconds, const char* what) {
    const double end = now_us() + seconds * 1e6;
    while (!met()) {
      if (gone()) throw std::runtime_error(who() + " died: " + slot_.error);
      if (now_us() > end) throw std::runtime_error(who() + " took too long " + what);
      nap_us(50);
    }
  }

  Slot& slot_;
  const int board_fd_, index_;
  const bool flat_;
  pid_t pid_ = 0;
};
