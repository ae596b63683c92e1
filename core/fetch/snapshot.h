// The state of an object, which its first response fixes, and with which each later one is compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

struct Snapshot {
  std::uint64_t size = 0;
  std::string etag{};            // as the server sends it; empty: none
  std::string last_modified{};   // likewise
  std::string version_id{};      // of a versioned bucket; empty: none
  std::string linked_etag{};     // strong, of the redirect that leads to the object: see Origin::linked()
  std::string linked_version{};  // likewise; for ObjectRange::version
  std::int64_t modified = 0;     // seconds since 1970; 0: not known
  bool is_settled = false;       // any other bytes would have another version

  // Returns the ETag for If-Match: strong, and of the server that is asked first; empty: there is none.
  std::string if_match() const;
  // Returns a text that is printable, without spaces, and for one URL of a server the same only for the same bytes, if
  // is_settled. If there is a strong ETag, it ends with "linked:" or "etag:" and that.
  std::string version() const;
};

// Returns the snapshot of an object of `size` bytes.
Snapshot snapshot_of(const HttpResponse& response, const Origin::Linked& linked, std::uint64_t size);

enum class Comparison : std::uint8_t {
  kSame,
  kChanged,
  kWrong,  // the response lacks what the first one had, or contradicts itself
};

// Compares what a response says of its object with the snapshot. `total`: the size that it states, if it does.
Comparison compare(const Snapshot& snapshot, const HttpResponse& response, const Origin::Linked& linked,
                   std::optional<std::uint64_t> total);

}  // namespace recordfs::fetch
