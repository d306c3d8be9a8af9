// A field that one thread replaces while others read it. Each read is consistent, two reads together are not: between them
// the pool entry may have been given to another stream or context. A reader finds that out by comparing the entry's key.
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
