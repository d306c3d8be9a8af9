// A communicator of one rank, and groups of calls.
#pragma once

#include <memory>
#include <vector>

#include "cuda.h"
#include "operation.h"

struct ncclComm {
  std::shared_ptr<nccl::Exchange> exchange;  // null: it is being made in a group
  nccl::CUcontext context = nullptr;
  int device = 0;
  nccl::CUmodule code = nullptr;
  // Operations of a communicator run in the order in which they are called, on whichever streams.
  nccl::CUevent done = nullptr;
  nccl::CUstream last = nullptr;
  bool has_last = false;
  unsigned splits = 0;
};

namespace nccl {

void set_last_error(const std::string& sentence);
const char* last_error();

// Makes a communicator on the current context. In a group its end waits until all ranks have come.
ncclResult_t make_communicator(ncclComm_t* out, const std::string& name, int ranks, int rank);
ncclResult_t split_communicator(ncclComm_t parent, int color, int key, ncclComm_t* out);
ncclResult_t finish_communicator(ncclComm_t comm);  // waits for its operations
void free_communicator(ncclComm_t comm);

ncclResult_t call(ncclComm_t comm, const Part& part, CUstream stream);
ncclResult_t begin_group();
ncclResult_t end_group();

}  // namespace nccl
