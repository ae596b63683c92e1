// The command line of the mount: what was asked for, or what is wrong with it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"

namespace recordfs {

struct Options {
  std::vector<std::string> sources;
  std::string mountpoint;
  bool foreground = false;
  bool debug = false;
  bool single_threaded = false;
  bool allow_other = false;
  bool nest = false;
  bool nonempty = false;
  bool follow = false;                     // files that grow show what is added
  std::uint64_t cache_size = 64ull << 20;  // bytes
  unsigned threads = 8;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<mode_t> umask;
  std::optional<std::string> fsname;
  std::optional<unsigned> max_read;  // bytes that the kernel asks for at once, at the most
  std::string index = "auto";        // or "no", or a directory
  std::vector<std::string> passed_on;
  Limits limits;
};

// What to do with a command line: mount, or leave with `status` after `output` went to stdout (status 0) or
// stderr.
struct ParsedOptions {
  std::optional<Options> options{};
  int status = 0;
  std::string output{};
};

// `version` is the text for -V.
ParsedOptions parse_options(int argc, const char* const* argv, const std::string& version);

// "64M" as bytes: a decimal number and K, M, G or T for powers of 1024. nullopt for anything else and for what
// passes 64 bits.
std::optional<std::uint64_t> parse_size(const std::string& text);

}  // namespace recordfs
