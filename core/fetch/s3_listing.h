// XML of S3: listings of buckets, and errors.
#pragma once

#include <string>
#include <string_view>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Returns the entries of a page of ListObjectsV2 that was asked for with this prefix, which is empty or ends with "/",
// and with the delimiter "/". Leaves out the prefix itself, keys without it, and names that no file can have. Fails
// with kUnsupported if the text is no listing, with kDamage if it is malformed or names the same page again, and with
// kIo (ENOENT) if nothing begins with the prefix.
Result<Origin::Page> parse_s3_listing(std::string_view xml, std::string_view prefix);

// An answer of S3 with an error; members are empty if they are missing, and all of them if the text is something else.
struct S3Error {
  std::string code{};     // as "NoSuchKey"
  std::string message{};  // of any bytes
  std::string region{};   // of the bucket
};

S3Error parse_s3_error(std::string_view xml);

}  // namespace recordfs::fetch
