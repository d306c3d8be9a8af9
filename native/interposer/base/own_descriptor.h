// A descriptor that this library keeps open in a program. A daemon may close every number above 2, and its next file then
// has a number that was this library's. So the file itself is compared before each use, and another one is left alone.
// Between the comparison and the use nothing protects the number.
#pragma once

#include <unistd.h>

#include "libc/file_status.h"

namespace cotenant {

// All zeros at first: none.
class OwnDescriptor {
 public:
  constexpr OwnDescriptor() noexcept = default;
  // Takes over a descriptor that was just opened. A negative number is none.
  explicit OwnDescriptor(int number) noexcept {
    struct stat info{};
    if (number < 0 || !file_status(number, &info)) return;
    number_ = number;
    device_ = info.st_dev;
    inode_ = info.st_ino;
  }

  [[nodiscard]] bool is_set() const noexcept { return inode_ != 0; }

  // -1: none, or the program has closed it.
  [[nodiscard]] int number() const noexcept {
    struct stat info{};
    const bool same = is_set() && file_status(number_, &info) && info.st_dev == device_ && info.st_ino == inode_;
    return same ? number_ : -1;
  }

  [[nodiscard]] bool is_lost() const noexcept { return is_set() && number() < 0; }

  void close() noexcept {
    if (const int open = number(); open >= 0) ::close(open);
    *this = OwnDescriptor();
  }

 private:
  int number_{0};
  dev_t device_{0};
  ino_t inode_{0};
};

}  // namespace cotenant
