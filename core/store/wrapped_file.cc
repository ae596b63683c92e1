#include "core/store/wrapped_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/base/percent_encoding.h"

namespace recordfs {
namespace {

using namespace std::string_view_literals;

struct Wrapper {
  std::string_view what;
  std::string_view magic;
  std::size_t at;              // of the magic
  std::string_view extension;  // that `unpack` requires; empty: none
  std::string_view unpack;     // the command before the file's name
  std::string_view filter;     // the command for a name without the extension
};

constexpr std::array kWrappers = {
    Wrapper{"gzip-compressed file", "\x1f\x8b"sv, 0, ".gz", "gunzip -k", "gunzip"},
    Wrapper{"zstd-compressed file", "\x28\xb5\x2f\xfd"sv, 0, ".zst", "unzstd", "unzstd"},
    Wrapper{"xz-compressed file", "\xfd\x37zXZ\0"sv, 0, ".xz", "unxz -k", "unxz"},
    Wrapper{"bzip2-compressed file", "BZh"sv, 0, ".bz2", "bunzip2 -k", "bunzip2"},
    Wrapper{"lz4-compressed file", "\x04\x22\x4d\x18"sv, 0, ".lz4", "unlz4", "unlz4"},
    Wrapper{"zip archive", "PK\x03\x04"sv, 0, {}, "unzip", {}},
    Wrapper{"tar archive", "ustar"sv, 257, {}, "tar -xf", {}},
};

// Quotes a word for a shell if necessary.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%=:,";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string hint_of(const Wrapper& wrapper, const std::string& path) {
  const bool is_input = path == "-";
  if (is_input && !wrapper.filter.empty()) return fmt::format("{} | recordfs COMMAND -", wrapper.filter);
  if (is_input) return fmt::format("{} FILE", wrapper.unpack);
  const std::string word = shell_word(path);
  if (path.ends_with(wrapper.extension)) return fmt::format("{} {}", wrapper.unpack, word);
  return fmt::format("{} <{} >FILE", wrapper.filter, word);
}

}  // namespace

std::string copied_name(const std::string& url) {
  const bool is_encoded = url.starts_with("http");
  std::string path = url;
  if (is_encoded) path.resize(std::min(path.find_first_of("?#"), path.size()));
  std::string name = path.substr(path.rfind('/') + 1);
  std::string decoded = is_encoded ? percent_decoded(name) : name;
  const bool is_name = decoded.find_first_of("/\0"sv) == std::string::npos && decoded != "." && decoded != "..";
  return is_name ? decoded : name;
}

std::optional<std::string> wrapped_file(Bytes head, const std::string& path, bool is_remote) {
  const std::string_view text = as_text(head);
  const auto* const found = std::ranges::find_if(kWrappers, [text](const Wrapper& wrapper) {
    return text.size() >= wrapper.at && text.substr(wrapper.at).starts_with(wrapper.magic);
  });
  if (found == kWrappers.end()) return std::nullopt;
  std::string hint = hint_of(*found, is_remote ? copied_name(path) : path);
  if (is_remote) hint.insert(0, fmt::format("recordfs cp --raw {} : . && ", shell_word(path)));
  return fmt::format("{}, not a record container (try: {})", found->what, hint);
}

}  // namespace recordfs
