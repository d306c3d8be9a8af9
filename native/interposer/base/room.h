// A zeroed array of plain values on the heap, for use within one call off the launch path. It is empty if the allocation
// failed.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace cotenant {

template <class T>
class Room {
 public:
  explicit Room(std::size_t count) noexcept
      : at_(count ? static_cast<T*>(std::calloc(count, sizeof(T))) : nullptr), count_(at_ ? count : 0) {}
  ~Room() { std::free(at_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  [[nodiscard]] bool holds(std::size_t count) const noexcept { return count_ >= count; }
  [[nodiscard]] T* at() noexcept { return at_; }
  [[nodiscard]] const T* at() const noexcept { return at_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return at_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return at_[i]; }

 private:
  T* at_;
  std::size_t count_;
};

}  // namespace cotenant
