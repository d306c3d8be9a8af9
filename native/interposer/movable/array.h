// A growing array of plain values, for what is allocated rarely. The interposer uses no C++ library.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace cotenant {

template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // False: out of memory.
  [[nodiscard]] bool insert(std::size_t at, const T& value) noexcept {
    if (count_ == room_) {
      const std::size_t room = room_ ? room_ * 2 : 64;
      auto* larger = static_cast<T*>(std::realloc(items_, room * sizeof(T)));
      if (!larger) return false;
      items_ = larger;
      room_ = room;
    }
    std::memmove(items_ + at + 1, items_ + at, (count_ - at) * sizeof(T));
    items_[at] = value;
    ++count_;
    return true;
  }
  void remove(std::size_t at) noexcept {
    --count_;
    std::memmove(items_ + at, items_ + at + 1, (count_ - at) * sizeof(T));
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t at) noexcept { return items_[at]; }
  // In a forked child: the memory may have been in the middle of a change.
  void forget() noexcept {
    items_ = nullptr;
    count_ = room_ = 0;
  }

 private:
  T* items_{nullptr};
  std::size_t count_{0};
  std::size_t room_{0};
};

}  // namespace cotenant
