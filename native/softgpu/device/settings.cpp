// Reads COTENANT_SOFTGPU=devices=1,sms=132,memory=16GiB,cc=9.0 and similar settings. Invalid words are ignored, because
// a driver has nowhere to report them.
#include "softgpu/device/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libc/file_status.h"
#include "softgpu/device/device.h"

namespace cotenant::soft {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::uint64_t bytes(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  int shift = 0;
  if (std::strncmp(unit, "KiB", 3) == 0) shift = 10;
  if (std::strncmp(unit, "MiB", 3) == 0) shift = 20;
  if (std::strncmp(unit, "GiB", 3) == 0) shift = 30;
  return std::uint64_t(number * double(std::uint64_t{1} << shift));
}

void read_word(Settings& settings, const std::string& key, const std::string& value) {
  const auto number = unsigned(std::strtoul(value.c_str(), nullptr, 10));
  if (key == "devices") settings.devices = std::clamp(number, 1u, kMaxDevices);
  if (key == "sms" && number > 0) settings.sms = std::min(number, 1024u);
  if (key == "serial") settings.serial = std::min(number, 255u);
  if (key == "memory" && bytes(value) > 0) settings.memory = bytes(value);
  if (key == "edges") settings.refuses_edges = value == "refused";
  if (key == "registers") settings.refused_registers = value == "refused" ? ~0u : number;
  if (key == "checkpoints") settings.refuses_checkpoints = value == "refused";
  if (key == "checkpoints") settings.loses_checkpoints = value == "lost";
  if (key == "unmap") settings.unmap_us = number;
  if (key == "queue" && number > 0) settings.queue = number;
  if (key == "clones") settings.refuses_clones = value == "refused";
  if (key == "cc" && value.size() == 3)
    settings.compute_capability = unsigned(value[0] - '0') * 10 + unsigned(value[2] - '0');
}

std::string directory() {
  std::string chosen = from_environment("COTENANT_SOFTGPU_DIR");
  if (!chosen.empty()) return chosen;
  std::string base = from_environment("XDG_RUNTIME_DIR");
  if (base.empty()) base = "/tmp";
  return base + "/cotenant-softgpu-" + std::to_string(getuid());
}

bool mps_wanted() {
  if (from_environment("COTENANT_SOFTGPU_MPS") == "1") return true;
  const std::string pipes = from_environment("CUDA_MPS_PIPE_DIRECTORY");
  struct stat info;
  return !pipes.empty() && file_status((pipes + "/softgpu-mps").c_str(), &info);
}

}  // namespace

Settings read_settings() {
  Settings settings;
  const std::string text = from_environment("COTENANT_SOFTGPU");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) read_word(settings, word.substr(0, equals), word.substr(equals + 1));
    at = end + 1;
  }
  settings.visible = std::getenv("CUDA_VISIBLE_DEVICES");
  settings.directory = directory();
  settings.trace = from_environment("COTENANT_SOFTGPU_TRACE");
  settings.mps = mps_wanted();
  if (settings.mps) {
    const std::string percentage = from_environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    if (!percentage.empty()) settings.thread_percentage = std::clamp(unsigned(std::atoi(percentage.c_str())), 1u, 100u);
    settings.client_priority = from_environment("CUDA_MPS_CLIENT_PRIORITY") == "1" ? 1 : 0;
  }
  return settings;
}

}  // namespace cotenant::soft
