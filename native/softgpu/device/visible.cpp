#include "softgpu/device/visible.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace cotenant::soft {
namespace {

constexpr char kPrefix[] = "GPU-";

// As strtoul reads it: "1x" is 1. -1: it names no device.
int by_number(const std::string& word, std::size_t count) {
  char* end = nullptr;
  const long number = std::strtol(word.c_str(), &end, 10);
  return end == word.c_str() || number < 0 || std::size_t(number) >= count ? -1 : int(number);
}

// -1: none begins so, or several do.
int by_uuid(const std::string& word, const std::vector<std::string>& uuids) {
  int found = -1;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    const bool begins =
        word.size() <= uuids[i].size() && std::equal(word.begin(), word.end(), uuids[i].begin(), [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        });
    if (!begins) continue;
    if (found >= 0) return -1;
    found = int(i);
  }
  return found;
}

}  // namespace

std::vector<unsigned> visible_devices(const char* list, const std::vector<std::string>& uuids) {
  std::vector<unsigned> devices;
  if (list == nullptr) {
    for (unsigned i = 0; i < uuids.size(); ++i) devices.push_back(i);
    return devices;
  }
  const std::string text = list;
  // The first word decides which kind all are.
  const bool numbers = text.compare(0, sizeof kPrefix - 1, kPrefix) != 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool named = numbers || word.compare(0, sizeof kPrefix - 1, kPrefix) == 0;
    const int device = !named ? -1 : numbers ? by_number(word, uuids.size()) : by_uuid(word, uuids);
    if (device < 0) break;
    if (std::find(devices.begin(), devices.end(), unsigned(device)) != devices.end()) return {};
    devices.push_back(unsigned(device));
    at = end + 1;
  }
  return devices;
}

}  // namespace cotenant::soft
