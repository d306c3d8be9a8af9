#include "softgpu/runtime/storage.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "softgpu/entry/entries.h"

namespace cotenant::soft::runtime {

using namespace cu;

namespace {

struct Kept {
  void* value;
  Forget forget;
};

struct Storage {
  std::mutex mutex;
  std::map<std::pair<CUcontext, void*>, Kept> kept;
};

Storage& storage() {
  static auto* one = new Storage;
  return *one;
}

CUresult resolve(CUcontext& context) {
  if (context != nullptr) return CUDA_SUCCESS;
  const CUresult error = cuCtxGetCurrent(&context);
  if (error != CUDA_SUCCESS) return error;
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

CUresult keep(CUcontext context, void* key, void* value, Forget forget) {
  const CUresult error = resolve(context);
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard<std::mutex> lock(storage().mutex);
  storage().kept[{context, key}] = {value, forget};
  return CUDA_SUCCESS;
}

CUresult forget(CUcontext context, void* key) {
  const CUresult error = resolve(context);
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard<std::mutex> lock(storage().mutex);
  return storage().kept.erase({context, key}) == 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult recall(void** value, CUcontext context, void* key) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = resolve(context);
  if (error != CUDA_SUCCESS) return error;
  const std::lock_guard<std::mutex> lock(storage().mutex);
  const auto found = storage().kept.find({context, key});
  if (found == storage().kept.end()) return CUDA_ERROR_INVALID_HANDLE;
  *value = found->second.value;
  return CUDA_SUCCESS;
}

void forget_all(CUcontext context) {
  std::vector<std::pair<void*, Kept>> gone;
  {
    const std::lock_guard<std::mutex> lock(storage().mutex);
    auto& kept = storage().kept;
    for (auto at = kept.lower_bound({context, nullptr}); at != kept.end() && at->first.first == context;) {
      gone.emplace_back(at->first.second, at->second);
      at = kept.erase(at);
    }
  }
  for (const auto& [key, what] : gone) {
    if (what.forget != nullptr) what.forget(context, key, what.value);
  }
}

}  // namespace cotenant::soft::runtime
