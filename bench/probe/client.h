// A client is a process with a CUDA context that performs the parent's orders. Loads and requests are
// in client.cpp, what a client measures alone in micro.cpp and limits.cpp.
#pragma once
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "board.h"
#include "driver.h"
#include "report.h"

struct Burn {
  unsigned iterations, grid;
  double us;
};

class Client {
 public:
  Client(Board& board, int index);
  ~Client();
  void perform(const Order& order);
  void clear_words();  // only with no GPU work pending

 private:
  // client.cpp
  void request(const Order& order);
  void stream_load(const Order& order);
  void gated_load(const Order& order);
  void park(const Order& order);
  // micro.cpp
  void platform();
  void calibrate();
  void open_latency();
  void chunk_cost();
  void released();
  // limits.cpp
  void graph_with_memop();
  void queue_depth();

  Burn burn(double us, int waves = 0) const;
  void launch(CUstream s, const Burn& kernel, int mark = -1, uint32_t value = 0);
  void tiny(CUstream s, int mark = -1, uint32_t value = 0);
  void wait_open(CUstream s, int word = 0);
  void write_done(CUstream s, uint32_t value, int word = 0, unsigned flags = 0);
  void boundary(CUstream s, uint32_t value, int word = 0);  // one batch: write done, wait for hold == 0
  void fill_boundary(CUstreamBatchMemOpParams (&ops)[2], uint32_t value, int word) const;
  CUgraphExec chain_graph(int kernels, const Burn& kernel);
  void settle(CUstream s, double limit_us = 8e6);  // bounded synchronise, for outside timed code
  double await_word(const std::atomic<uint32_t>& word, uint32_t value, double limit_us = 2e6);
  void pause_if_stuck(double since_us, double limit_us, const char* what) const;
  void tell(const Json& json);

  std::atomic<uint32_t>& hold(int word = 0) { return board_.hold[index_][word].value; }
  std::atomic<uint32_t>& done(int word = 0) { return board_.done[index_][word].value; }
  std::atomic<uint32_t>& mark(int word = 0) { return board_.mark[index_][word].value; }
  CUdeviceptr on_gpu(const std::atomic<uint32_t>& word) const {
    return words_ + static_cast<CUdeviceptr>(reinterpret_cast<const char*>(&word) - shared_);
  }
  void register_words();
  void mirror_words();

  Board& board_;
  Slot& slot_;
  const int index_;
  std::mt19937 random_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUfunction burn_ = nullptr, tiny_ = nullptr, spin_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr ticket_ = 0;

  // Hold, done and mark words as the GPU sees them. If the driver refuses to register the memfd's pages,
  // a thread copies between them and pinned memory, at about 0.1 us more in each direction.
  const char* shared_;
  CUdeviceptr words_ = 0;
  CUresult registered_ = CUDA_SUCCESS, memops_ = CUDA_SUCCESS;
  char* pinned_ = nullptr;
  std::atomic<bool> leaving_{false};
  std::thread mirror_;
};
