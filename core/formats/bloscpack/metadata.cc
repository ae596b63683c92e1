#include "core/formats/bloscpack/metadata.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/codec/codec.h"
#include "core/formats/bloscpack/json.h"

namespace recordfs::bloscpack {
namespace {

// An object with more members than this is shown only as a whole.
constexpr std::size_t kMostMembers = 65536;

Error damaged(const Survey& survey, std::string why) {
  return {Code::kDamage, survey.metadata_begin, "metadata: " + std::move(why)};
}

Result<void> verify(const Source& source, const Survey& survey, Bytes stored) {
  const MetadataHeader& header = *survey.metadata;
  if (!header.digest) return {};
  Digester digester(*header.digest);
  digester.append(stored);
  const Digest digest = digester.finish();
  ASSIGN_OR_RETURN(const auto due, read_exactly(source, survey.metadata_begin + header.room, digest.size));
  if (!std::ranges::equal(digest.view(), due.view())) return damaged(survey, "the checksum does not match");
  return {};
}

}  // namespace

Result<Buffer> read_metadata(const Source& source, const Survey& survey, const Limits& limits) {
  if (!survey.metadata) return Buffer();
  const MetadataHeader& header = *survey.metadata;
  if (!header.is_json) return damaged(survey, "unknown format");
  if (header.codec > 1) {
    return Error{Code::kUnsupported, survey.metadata_begin, fmt::format("metadata: unknown codec {}", header.codec)};
  }
  if (header.stored_size > header.room) return damaged(survey, "stored size exceeds the reserved size");
  if (std::max(header.stored_size, header.size) > limits.metadata_bytes) {
    return Error{Code::kLimit, survey.metadata_begin,
                 fmt::format("{} bytes of metadata exceed the limit", header.size)};
  }
  ASSIGN_OR_RETURN(const auto stored, read_exactly(source, survey.metadata_begin, header.stored_size));
  TRY(verify(source, survey, stored.view()));
  auto decoded = decompress(header.codec == 1 ? CodecId::kZlib : CodecId::kNone, stored.view(), header.size,
                            limits.metadata_bytes);
  // The size is a hint that other readers ignore; the checksum verifies the stored bytes.
  if (!decoded) decoded.error().position = survey.metadata_begin;
  return decoded;
}

std::vector<Attribute> attributes_of(Bytes metadata, const Limits& limits) {
  std::vector<Attribute> attributes;
  if (metadata.empty()) return attributes;
  const std::string whole(as_text(metadata));
  auto json = read_json(metadata, limits.nesting_depth, kMostMembers);
  if (!json) {
    attributes.push_back({"metadata", "", whole});
    return attributes;
  }
  attributes.push_back({"metadata.json", std::string(to_string(json->type)), whole});
  for (JsonMember& member : json->members) {
    attributes.push_back({std::move(member.key), std::string(to_string(member.type)), std::move(member.value)});
  }
  return attributes;
}

}  // namespace recordfs::bloscpack
