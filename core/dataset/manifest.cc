#include "core/dataset/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/storage.h"
#include "core/dataset/path_errors.h"

namespace recordfs {
namespace {

constexpr std::size_t kPiece = 64u << 10;

Error too_large(const std::string& path) { return with_path(path, Code::kLimit, "too large for a manifest"); }

Result<std::string> read_stored_text(const Location& location, const NamingBounds& bounds) {
  auto text = [&]() -> Result<std::string> {
    ASSIGN_OR_RETURN(const auto source, open_source({}, location));
    if (source->size() > bounds.manifest_bytes) return too_large(location.text());
    ASSIGN_OR_RETURN(const auto bytes, read_exactly({}, *source, 0, source->size()));
    return std::string(as_text(bytes.view()));
  }();
  if (text || text.error().code == Code::kLimit) return text;
  return with_path(location.text(), text.error().code, text.error().detail, text.error().os_error);
}

Result<std::string> read_text(const std::string& path, const NamingBounds& bounds) {
  if (const Location location(path); !location.is_local()) return read_stored_text(location, bounds);
  const bool is_input = path == "-";
  const Descriptor file(is_input ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_input && !file) return with_path(path, Code::kIo, std::generic_category().message(errno), errno);
  const int number = is_input ? STDIN_FILENO : file.number();
  std::string text;
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t got = ::read(number, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return with_path(path, Code::kIo, std::generic_category().message(errno), errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > bounds.manifest_bytes) return too_large(path);
  }
}

Result<ShardList> parse_manifest(const std::string& path, std::string_view text, const NamingBounds& bounds) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = path == "-" || slash == std::string::npos ? "" : path.substr(0, slash + 1);
  ShardList list;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const auto bad = [&](std::string_view why) {
      return with_path(path, Code::kDamage, "line " + std::to_string(number) + " " + std::string(why));
    };
    if (line.find('\0') != std::string_view::npos) return bad("has a NUL byte, so this is no manifest");
    if (line.size() > bounds.path_bytes) return bad("is too long for a path");
    if (list.shards.size() == bounds.shards) return too_many(path, bounds);
    const Location named(std::string(line), Location::NamedBy::kFile);
    const bool is_whole = line.front() == '/' || !named.is_local();
    list.shards.push_back({is_whole ? named.text() : directory + named.text()});
  }
  if (list.shards.empty()) return with_path(path, Code::kNotFound, "this manifest names no file");
  return list;
}

}  // namespace

Result<ShardList> read_manifest(const std::string& path, const NamingBounds& bounds) {
  ASSIGN_OR_RETURN(const auto text, read_text(path, bounds));
  return parse_manifest(path, text, bounds);
}

}  // namespace recordfs
