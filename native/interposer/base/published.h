// A field that one thread replaces while others read it. Only single values are consistent: an entry of a pool may
// serve another stream or context between two reads, which its user tells by its key.
#pragma once

#include <atomic>

namespace cotenant {

template <class T>
class Published {
 public:
  Published() noexcept = default;
  constexpr Published(T value) noexcept : value_(value) {}
  Published& operator=(T value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_relaxed); }
  operator T() const noexcept { return get(); }
  T operator->() const noexcept { return get(); }

 private:
  std::atomic<T> value_{};
};

}  // namespace cotenant
