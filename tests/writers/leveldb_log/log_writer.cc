#include "tests/writers/leveldb_log/log_writer.h"

#include <algorithm>
#include <cstdlib>

#include <zstd.h>

#include "core/base/bytes.h"
#include "core/hash/crc32c.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kFrame = 32768;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

std::string zstd_frame(std::string_view record, bool content_size) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, content_size ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(record.size()), '\0');
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), record.data(), record.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size)) std::abort();
  out.resize(size);
  return out;
}

std::uint8_t data_type(bool first, bool last) {
  if (first) return last ? 1 : 2;
  return last ? 4 : 3;
}

}  // namespace

std::string fragment(std::uint8_t type, std::string_view payload, std::optional<std::uint32_t> log_number) {
  std::string covered(1, static_cast<char>(type));
  if (log_number) covered += little_endian(*log_number, 4);
  covered += payload;
  return little_endian(mask_crc(crc32c(as_bytes(covered))), 4) + little_endian(payload.size(), 2) + covered;
}

LogWriter::LogWriter(Options options) : options_(options) {
  if (options_.zstd) log_ = fragment(9, little_endian(7, 4));
}

std::size_t LogWriter::left_in_frame() const { return kFrame - log_.size() % kFrame; }

std::size_t LogWriter::header_size() const { return options_.log_number ? 11 : 7; }

void LogWriter::pad() {
  if (left_in_frame() < header_size()) log_.append(left_in_frame(), '\0');
}

void LogWriter::append(std::string_view record) {
  const std::string compressed =
      options_.zstd && !record.empty() ? zstd_frame(record, options_.zstd_content_size) : std::string(record);
  std::string_view rest = compressed;
  bool first = true;
  do {
    pad();
    const std::size_t size = std::min(rest.size(), left_in_frame() - header_size());
    const std::uint8_t type = data_type(first, size == rest.size());
    const auto recyclable = static_cast<std::uint8_t>(type + (options_.log_number ? 4 : 0));
    log_ += fragment(recyclable, rest.substr(0, size), options_.log_number);
    rest.remove_prefix(size);
    first = false;
  } while (!rest.empty());
}

std::string LogWriter::take_frames() {
  const std::size_t whole = log_.size() - log_.size() % kFrame;
  std::string taken = log_.substr(0, whole);
  log_.erase(0, whole);
  return taken;
}

void LogWriter::fill_frame_but(std::size_t left, char filling) {
  pad();
  append(std::string(left_in_frame() - header_size() - left, filling));
}

}  // namespace recordfs::leveldb_log
