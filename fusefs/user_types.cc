#include "fusefs/user_types.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/base/descriptor.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::size_t kPiece = 64u << 10;
constexpr std::size_t kLargestFile = 256u << 20;

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(errno);
  std::string bytes;
  std::array<char, kPiece> piece{};
  for (;;) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno);
    if (got == 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (bytes.size() > kLargestFile) return Error{.code = Code::kLimit, .detail = "too large for a descriptor file"};
  }
}

}  // namespace

Result<UserTypes> read_user_types(const std::string& descriptors, const std::string& type) {
  if (descriptors.empty()) return UserTypes{.type = type.starts_with('.') ? type.substr(1) : type};
  ASSIGN_OR_RETURN(auto bytes, read_file(descriptors));
  return user_types(std::move(bytes), type);
}

}  // namespace recordfs
