#include "core/fetch/environment.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "core/base/descriptor.h"

namespace recordfs::fetch {

std::string Environment::file(const char* name, const std::string& otherwise) const {
  std::string path = variable(name);
  if (path.empty()) path = otherwise;
  if (path.starts_with("~/")) path.replace(0, 1, variable("HOME"));
  return path;
}

bool Environment::is_set(const char* name) const {
  const std::string value = variable(name);
  return value == "1" || value == "true" || value == "True" || value == "TRUE" || value == "yes" || value == "on";
}

Environment process_environment() {
  return {.variable = [](const char* name) -> std::string {
            const char* const value = std::getenv(name);
            return value == nullptr ? "" : value;
          },
          .now = [] { return std::chrono::system_clock::now(); }};
}

Result<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t kMost = 1u << 20;
  const auto failed = [&](Error error) {
    error.detail = path + ": " + error.detail;
    return error;
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed(system_error(errno));
  std::string content;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t size = ::read(file.number(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(system_error(errno));
    if (size == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(size));
    if (content.size() > kMost) return failed({.code = Code::kLimit, .detail = "longer than 1 MiB"});
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace recordfs::fetch
