// File metadata: converts a RecordsMetadata message (riegeli/records/records_metadata.proto) to attributes, and back.
// Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/record_writer.h"

namespace recordfs::riegeli {

// The keys of the attributes that name and describe the message type of the records.
inline constexpr std::string_view kRecordTypeKey = "record_type_name";
inline constexpr std::string_view kDescriptorsKey = "file_descriptor_set";

// Returns the fields that are present, ordered by number, then the message itself:
//
//   file_comment, record_type_name, record_writer_options   text, unchanged
//   file_descriptor_set   the file descriptors as one google.protobuf.FileDescriptorSet
//   num_records           decimal; a hint by the writer that may be wrong
//   records_metadata      the whole message, extensions included
//
// Returns no attributes for an empty message. Fails with kDamage if the message is invalid or a field has the wrong
// type, and with kLimit if groups are nested deeper than Limits::nesting_depth.
Result<std::vector<Attribute>> parse_metadata(Bytes message, const Limits& limits);

// Returns the message of a file with these options; empty: there is none. The attributes have the keys that
// parse_metadata() returns. If records_metadata is among them, it is the message, and the others are ignored. Fails
// with kUnsupported for other keys.
Result<std::string> encode_metadata(const WriterOptions& options);

}  // namespace recordfs::riegeli
