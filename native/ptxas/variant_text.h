// The variants that the agent puts into a module (src/ptx/variants), in the module's text. They are found by their
// names, and removed if the assembler refuses them, so that one refused variant does not cost the others.
#pragma once

#include <cstddef>
#include <cstring>

namespace cotenant::variant_text {

inline constexpr const char* kPreempt = "__cotenant_preempt";
inline constexpr const char* kSlice = "__cotenant_slice";

struct Function {
  char* begin;  // where the comments before it begin
  char* word;  // its first
  char* end;
  const char* name;
  std::size_t name_size;
  bool entry;  // false: a device function, which several kernels may call
};

inline bool ends_in(const Function& one, const char* suffix) noexcept {
  const std::size_t size = std::strlen(suffix);
  return one.name_size > size && std::memcmp(one.name + one.name_size - size, suffix, size) == 0;
}

// The suffix of a variant; null for a function of the program's own.
inline const char* suffix_of(const Function& one) noexcept {
  return ends_in(one, kPreempt) ? kPreempt : ends_in(one, kSlice) ? kSlice : nullptr;
}

inline bool has_name(const Function& one, const char* name, std::size_t size) noexcept {
  return one.name_size == size && std::memcmp(one.name, name, size) == 0;
}

// Removes a function; line numbers stay the same.
inline void take_out(const Function& one) noexcept {
  for (char* at = one.begin; at < one.end; ++at)
    if (*at != '\n') *at = ' ';
}

// Reads the declarations of a text that ends with a 0; skips what is in braces.
class Reader {
 public:
  explicit Reader(char* text) noexcept : at_(text) {}

  // False: there is no other.
  bool next(Function& out) noexcept {
    char* begin = nullptr;
    char* first = nullptr;  // the linkage, or the directive of the function
    for (;;) {
      char* const blanks = at_;
      skip_blanks();
      if (*at_ == '\0') return false;
      char* const word = at_;
      if (*at_ != '.') {
        skip_one();
        continue;
      }
      const std::size_t size = word_size();
      at_ += size;
      const bool entry = is(word, size, ".entry");
      if (!begin) begin = blanks, first = word;
      if (is(word, size, ".visible") || is(word, size, ".extern") || is(word, size, ".weak")) continue;
      if (!entry && !is(word, size, ".func")) {
        begin = nullptr;
        continue;
      }
      skip_blanks();
      if (*at_ == '(') skip_one();  // what a device function returns
      skip_blanks();
      out.begin = begin;
      out.word = first;
      out.entry = entry;
      out.name = at_;
      out.name_size = std::strcspn(at_, " \t\r\n(){};,");
      at_ += out.name_size;
      while (*at_ && *at_ != ';' && *at_ != '{') {
        skip_one();
        skip_blanks();
      }
      if (*at_) skip_one();
      out.end = at_;
      return true;
    }
  }

 private:
  static bool is(const char* word, std::size_t size, const char* other) noexcept {
    return std::strlen(other) == size && std::memcmp(word, other, size) == 0;
  }

  std::size_t word_size() const noexcept { return 1 + std::strcspn(at_ + 1, " \t\r\n(){};,./\""); }

  // Skips comments, too.
  void skip_blanks() noexcept {
    for (;;) {
      at_ += std::strspn(at_, " \t\r\n");
      if (at_[0] == '/' && at_[1] == '/') {
        at_ += std::strcspn(at_, "\n");
      } else if (at_[0] == '/' && at_[1] == '*') {
        char* const end = std::strstr(at_ + 2, "*/");
        at_ = end ? end + 2 : at_ + std::strlen(at_);
      } else {
        return;
      }
    }
  }

  // Skips a character, a string, or a whole pair of brackets.
  void skip_one() noexcept {
    int depth = 0;
    do {
      if (*at_ == '"') {
        ++at_;
        at_ += std::strcspn(at_, "\"");
      }
      depth += *at_ == '{' || *at_ == '(';
      depth -= *at_ == '}' || *at_ == ')';
      if (*at_) ++at_;
      if (depth > 0) skip_blanks();
    } while (depth > 0 && *at_);
  }

  char* at_;
};

// Removes all variants of a kind. Returns the number of entries among them.
inline int take_out_all(char* text, const char* suffix) noexcept {
  int entries = 0;
  Reader reader(text);
  for (Function one{}; reader.next(one);) {
    if (!ends_in(one, suffix)) continue;
    entries += one.entry;
    take_out(one);
  }
  return entries;
}

}  // namespace cotenant::variant_text
