#include "softgpu/ptx/ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace cotenant::soft::ptx {
namespace {

class Text {
 public:
  explicit Text(const char* text) : at_(text) {}

  void space() {
    for (;;) {
      while (std::isspace(static_cast<unsigned char>(*at_)) != 0) ++at_;
      if (at_[0] == '/' && at_[1] == '/') {
        if (std::strncmp(at_, "//! soft", 8) == 0) directive_ = at_ + 8;
        while (*at_ != 0 && *at_ != '\n') ++at_;
      } else if (at_[0] == '/' && at_[1] == '*') {
        const char* end = std::strstr(at_, "*/");
        at_ = end == nullptr ? at_ + std::strlen(at_) : end + 2;
      } else {
        return;
      }
    }
  }

  // A name, a number or a dotted word is one token, and so is a string; anything else is a single character.
  std::string token() {
    space();
    const char* begin = at_;
    if (*at_ == '"') {
      for (++at_; *at_ != 0 && *at_ != '"'; ++at_) {
      }
      if (*at_ != 0) ++at_;
    } else if (word(*at_)) {
      while (word(*at_)) ++at_;
    } else if (*at_ != 0) {
      ++at_;
    }
    return std::string(begin, at_);
  }

  std::string peek() {
    const char* at = at_;
    const char* directive = directive_;
    std::string next = token();
    at_ = at;
    directive_ = directive;
    return next;
  }

  void skip_block() {  // after its opening brace
    for (int depth = 1; depth > 0;) {
      const std::string next = token();
      if (next.empty()) return;
      if (next == "{") ++depth;
      if (next == "}") --depth;
    }
  }

  // Takes the directive seen since the last call.
  const char* take_directive() {
    const char* found = directive_;
    directive_ = nullptr;
    return found;
  }

 private:
  static bool word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%' || c == '@';
  }

  const char* at_;
  const char* directive_ = nullptr;
};

std::size_t type_size(const std::string& word) {
  if (word.size() < 3 || word[0] != '.') return 0;
  if (std::strchr("subf", word[1]) == nullptr) return 0;
  const unsigned long bits = std::strtoul(word.c_str() + 2, nullptr, 10);
  return bits % 8 == 0 ? bits / 8 : 0;
}

// Reads what follows .param or .global up to the name: size and alignment.
struct Declaration {
  std::string name;
  std::size_t size = 0;
  std::size_t element = 0;
  std::size_t align = 1;
};

Declaration declaration(Text& text) {
  Declaration found;
  std::size_t& element = found.element;
  std::size_t lanes = 1;
  for (std::string word = text.token(); !word.empty(); word = text.token()) {
    if (word == ".align") {
      found.align = std::strtoul(text.token().c_str(), nullptr, 10);
    } else if (word == ".v2") {
      lanes = 2;
    } else if (word == ".v4") {
      lanes = 4;
    } else if (type_size(word) != 0) {
      element = type_size(word) * lanes;
    } else if (word[0] != '.') {
      found.name = word;
      break;
    }
  }
  if (found.align < element) found.align = element;
  found.size = element;
  while (text.peek() == "[") {
    text.token();
    const std::string count = text.token();
    if (count != "]") {
      found.size *= std::strtoul(count.c_str(), nullptr, 0);
      text.token();
    }
  }
  return found;
}

// The bits of a number as PTX writes it. Of an address, which has no value here, they are 0.
std::uint64_t bits_of(const std::string& word) {
  const bool hexadecimal = word[0] == '0' && word.size() > 2 && std::strchr("fFdD", word[1]) != nullptr;
  return hexadecimal ? std::strtoull(word.c_str() + 2, nullptr, 16) : std::strtoull(word.c_str(), nullptr, 0);
}

// The value behind the `=` of a variable: one number, or braces of them.
std::vector<unsigned char> initial_value(Text& text, std::size_t element) {
  std::vector<unsigned char> bytes;
  int depth = 0;
  bool negative = false;
  do {
    const std::string word = text.token();
    if (word.empty()) return bytes;
    if (word == "{") ++depth;
    else if (word == "}") --depth;
    else if (word == "-") negative = true;
    else if (word != ",") {
      const std::uint64_t value = negative ? -bits_of(word) : bits_of(word);
      const auto* begin = reinterpret_cast<const unsigned char*>(&value);
      bytes.insert(bytes.end(), begin, begin + std::min(element, sizeof value));
      negative = false;
    }
  } while (depth > 0 || negative);
  return bytes;
}

bool number(const char*& at, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(at, &end, 0);
  if (end == at) return false;
  at = end;
  return true;
}

bool expression(const char*& at, Expression& out) {
  while (*at == ' ') ++at;
  if (*at != 'p') return number(at, out.times);
  ++at;
  std::uint64_t index = 0;
  if (!number(at, index)) return false;
  out.parameter = int(index);
  out.times = 1;
  if (*at == '*') {
    ++at;
    if (!number(at, out.times)) return false;
  }
  if (*at == '/') {
    ++at;
    if (!number(at, out.over) || out.over == 0) return false;
  }
  return true;
}

bool read_directive(const char* at, Entry& entry) {
  for (;;) {
    while (*at == ' ' || *at == '\t') ++at;
    if (*at == 0 || *at == '\n' || *at == '\r') return true;
    if (std::strncmp(at, "ns=", 3) == 0) {
      at += 3;
      if (!expression(at, entry.duration)) return false;
    } else if (std::strncmp(at, "sms=", 4) == 0) {
      at += 4;
      if (!expression(at, entry.sms)) return false;
      entry.has_sms = true;
    } else if (std::strncmp(at, "meets=", 6) == 0) {
      at += 6;
      if (!expression(at, entry.meets)) return false;
      entry.has_meets = true;
    } else if (std::strncmp(at, "effect=", 7) == 0) {
      at += 7;
      while (std::isalpha(static_cast<unsigned char>(*at)) != 0) entry.effect += *at++;
      if (*at == '(') {
        do {
          Expression argument;
          if (!expression(++at, argument)) return false;
          entry.effect_arguments.push_back(argument);
          while (*at == ' ') ++at;
        } while (*at == ',');
        if (*at++ != ')') return false;
      }
    } else {
      return false;
    }
  }
}

bool read_entry(Text& text, const char* directive, Entry& entry) {
  entry.name = text.token();
  if (text.peek() == "(") {
    text.token();
    while (text.peek() != ")") {
      const std::string word = text.token();
      if (word.empty()) return false;
      if (word != ".param") continue;
      const Declaration parameter = declaration(text);
      if (parameter.size == 0) return false;
      const std::size_t offset = (entry.parameter_bytes + parameter.align - 1) / parameter.align * parameter.align;
      entry.parameters.push_back({offset, parameter.size});
      entry.parameter_bytes = offset + parameter.size;
    }
    text.token();
  }
  for (std::string word = text.token(); word != "{"; word = text.token()) {
    if (word.empty()) return false;
    if (word == ".maxntid" || word == ".reqntid") {
      entry.max_threads = unsigned(std::strtoul(text.token().c_str(), nullptr, 10));
      while (text.peek() == ",") {
        text.token();
        entry.max_threads *= unsigned(std::strtoul(text.token().c_str(), nullptr, 10));
      }
    }
  }
  text.skip_block();
  const auto ends_in = [&](const std::string& suffix) {
    return entry.name.size() > suffix.size() && entry.parameters.size() >= 6 &&
           entry.name.compare(entry.name.size() - suffix.size(), suffix.size(), suffix) == 0;
  };
  entry.resumable = ends_in("__cotenant_preempt");
  entry.sliced = ends_in("__cotenant_slice");
  entry.described = directive != nullptr;
  if (entry.described && !read_directive(directive, entry)) return false;
  const std::size_t known = entry.parameters.size();
  const auto fits = [&](const Expression& e) { return e.parameter < int(known); };
  for (const Expression& argument : entry.effect_arguments) {
    if (!fits(argument)) return false;
  }
  return fits(entry.duration) && fits(entry.sms) && fits(entry.meets);
}

unsigned parse_version(const std::string& text) {
  char* end = nullptr;
  const auto major = unsigned(std::strtoul(text.c_str(), &end, 10));
  return major * 10 + (*end == '.' ? unsigned(std::strtoul(end + 1, nullptr, 10)) : 0);
}

}  // namespace

cu::CUresult parse(const char* image, Program& out) {
  if (image == nullptr) return cu::CUDA_ERROR_INVALID_VALUE;
  const auto first = static_cast<unsigned char>(image[0]);
  if (first >= 0x7f || (first < 0x20 && std::isspace(first) == 0)) return cu::CUDA_ERROR_NO_BINARY_FOR_GPU;
  Text text(image);
  bool versioned = false;
  for (std::string word = text.token(); !word.empty(); word = text.token()) {
    if (word == ".version") {
      out.version = parse_version(text.token());
      versioned = true;
    } else if (word == ".target") {
      const std::string target = text.token();  // sm_90a
      if (target.size() > 3) out.target = unsigned(std::strtoul(target.c_str() + 3, nullptr, 10));
    } else if (word == ".entry") {
      Entry entry;
      if (!read_entry(text, text.take_directive(), entry)) return cu::CUDA_ERROR_INVALID_PTX;
      out.entries.push_back(std::move(entry));
    } else if (word == ".global" || word == ".const") {
      const Declaration global = declaration(text);
      ptx::Global made{global.name, global.size, {}};
      if (text.peek() == "=") {
        text.token();
        made.initial = initial_value(text, global.element);
        if (made.initial.size() > made.size) made.initial.resize(made.size);
      }
      if (!made.name.empty() && made.size != 0) out.globals.push_back(std::move(made));
    } else if (word == "{") {
      text.skip_block();
    } else if (word == "}" || word == ";") {
      text.take_directive();  // the directive belonged to another declaration
    }
  }
  return versioned ? cu::CUDA_SUCCESS : cu::CUDA_ERROR_INVALID_PTX;
}

}  // namespace cotenant::soft::ptx
