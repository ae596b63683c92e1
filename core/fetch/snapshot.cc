#include "core/fetch/snapshot.h"

#include <fmt/format.h>

#include "core/fetch/http_date.h"
#include "core/fetch/http_headers.h"
#include "core/hash/digest.h"

namespace recordfs::fetch {
namespace {

// A file that is replaced within the same second keeps its Last-Modified, and the ETag that servers such as nginx make
// of its time and size.
constexpr std::int64_t kSecondsToSettle = 2;
constexpr std::size_t kLongestVersion = 256;

std::string printable_version(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c > ' ' && c < 0x7f && c != '%') {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  if (result.size() <= kLongestVersion) return result;
  Digester digester(DigestId::kSha256);
  digester.append(as_bytes(text));
  const Digest digest = digester.finish();
  result = "sha256:";
  for (const std::byte byte : digest.view()) result += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return result;
}

std::string_view without_weakness(std::string_view etag) {
  constexpr std::string_view kWeak = "W/";
  return etag.starts_with(kWeak) ? etag.substr(kWeak.size()) : etag;
}

}  // namespace

std::string Snapshot::if_match() const { return linked_etag.empty() && is_strong_etag(etag) ? etag : std::string(); }

std::string Snapshot::version() const {
  if (!linked_etag.empty()) return printable_version("linked:" + linked_etag);
  const std::string strong = is_strong_etag(etag) ? "etag:" + etag.substr(1, etag.size() - 2) : std::string();
  if (!version_id.empty())
    return printable_version(fmt::format("version:{}{}{}", version_id, strong.empty() ? "" : ",", strong));
  if (!strong.empty()) return printable_version(strong);
  std::string text = fmt::format("size:{}", size);
  if (!last_modified.empty()) text += fmt::format(",modified:{}", modified);
  if (!etag.empty()) text += ",weak:" + etag;
  return printable_version(text);
}

Snapshot snapshot_of(const HttpResponse& response, const Origin::Linked& linked, std::uint64_t size) {
  Snapshot snapshot{.size = size,
                    .etag = std::string(response.header("etag")),
                    .last_modified = std::string(response.header("last-modified")),
                    .version_id = std::string(response.header("x-amz-version-id")),
                    .linked_etag = is_strong_etag(linked.etag) ? linked.etag : std::string(),
                    .linked_version = linked.version};
  if (snapshot.version_id == "null") snapshot.version_id.clear();  // of objects older than the bucket's versions
  const auto modified = parse_http_date(snapshot.last_modified);
  if (!modified) snapshot.last_modified.clear();
  snapshot.modified = modified.value_or(0);
  const auto date = parse_http_date(response.header("date"));
  const bool is_dated = modified && date;
  const bool is_recent = is_dated && *modified >= *date - kSecondsToSettle;
  const bool is_named = !snapshot.linked_etag.empty() || !snapshot.version_id.empty();
  snapshot.is_settled = is_named || (!is_recent && (is_dated || is_strong_etag(snapshot.etag)));
  return snapshot;
}

Comparison compare(const Snapshot& snapshot, const HttpResponse& response, const Origin::Linked& linked,
                   std::optional<std::uint64_t> total) {
  const Snapshot other = snapshot_of(response, linked, total.value_or(snapshot.size));
  const bool same_size = other.size == snapshot.size;
  if (!snapshot.linked_etag.empty()) {
    // What the redirect leads to is named by its content, and several servers may have it.
    if (!other.linked_etag.empty() && other.linked_etag != snapshot.linked_etag) return Comparison::kChanged;
    return same_size ? Comparison::kSame : Comparison::kWrong;
  }
  if (!snapshot.version_id.empty() && other.version_id != snapshot.version_id) {
    return other.version_id.empty() ? Comparison::kWrong : Comparison::kChanged;
  }
  if (other.etag != snapshot.etag) {
    if (other.etag.empty()) return Comparison::kWrong;
    if (without_weakness(other.etag) != without_weakness(snapshot.etag)) return Comparison::kChanged;
    // Whatever compressed the first response did not do so with this one, or the other way round.
    if (is_strong_etag(snapshot.etag)) return Comparison::kWrong;
  }
  if (is_strong_etag(snapshot.etag) || !snapshot.version_id.empty()) {
    return same_size ? Comparison::kSame : Comparison::kWrong;
  }
  if (!same_size) return Comparison::kChanged;
  if (other.last_modified != snapshot.last_modified) {
    return other.last_modified.empty() ? Comparison::kWrong : Comparison::kChanged;
  }
  return Comparison::kSame;
}

}  // namespace recordfs::fetch
