// Recognizes compressed files and archives, which may have a container inside.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/bytes.h"

namespace recordfs {

// How many bytes of a file's head wrapped_file() needs.
inline constexpr std::size_t kWrappedHead = 512;

// Returns "gzip-compressed file, not a record container (try: gunzip -k x.gz)"; nullopt if the file does not begin like
// a compressed file or an archive. The path "-" means standard input. A remote file is copied first, in the hint.
// Thread-safe.
std::optional<std::string> wrapped_file(Bytes head, const std::string& path, bool is_remote);

// Returns the name that `recordfs cp --raw` gives to the copy of a URL's file: that of the server's listing. A name
// that would be no file name, as one with a slash, stays encoded. Thread-safe.
std::string copied_name(const std::string& url);

}  // namespace recordfs
