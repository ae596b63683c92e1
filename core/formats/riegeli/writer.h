// Writes Riegeli/records files with simple chunks. FORMAT.md, "What is written".
#pragma once

#include <string>

#include "core/formats/record_writer.h"
#include "core/formats/riegeli/encode.h"

namespace recordfs::riegeli {

extern const FileWriter kWriter;

// What writers of formats that consist of Riegeli chunks share. Thread-safe.

// Returns how the options say to compress. Fails with kUnsupported for a codec that this build cannot write.
Result<Compression> compression_of(const WriterOptions& options);

// Returns the chunk with the file metadata of the options; empty: there is none. Fails with kUnsupported for metadata
// that the format has no place for.
Result<std::string> metadata_chunk_of(const WriterOptions& options, const Compression& compression);

// Returns the codec of a file, as WriterOptions::codec; empty if that is unknown, or if it cannot be written.
std::string codec_in(const Container& container);

// Returns the intact chunk with the metadata of a file, as WriterOptions::stored_metadata; empty: there is none. Fails
// as Source does.
Result<std::string> stored_metadata_chunk(const RequestContext& context, const Container& container,
                                          const Source& source);

}  // namespace recordfs::riegeli
