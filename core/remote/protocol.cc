#include "core/remote/protocol.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/base/cursor.h"

namespace recordfs::remote {
namespace {

constexpr std::uint8_t kRequest = 'Q';
constexpr std::uint8_t kReply = 'R';
constexpr std::uint8_t kSuccess = 255;  // in place of a Code
constexpr std::uint8_t kDirectory = 1, kSettled = 2;

template <class Number>
void put(Number number, std::string& to) {
  for (std::size_t i = 0; i < sizeof(number); ++i) to += static_cast<char>(number >> (8 * i));
}

void put_text(const std::string& text, std::string& to) {
  put(static_cast<std::uint32_t>(text.size()), to);
  to += text;
}

std::string take_text(Cursor& cursor) { return std::string(as_text(cursor.take(cursor.u32_le()))); }

Error malformed(const char* what) { return {.code = Code::kDamage, .detail = what}; }

bool may_be_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// The failures that a fetcher may report.
bool is_failure(std::uint8_t code) {
  constexpr Code kFailures[] = {Code::kDamage,  Code::kUnsupported, Code::kLimit,      Code::kInterrupted,
                                Code::kChanged, Code::kIo,          Code::kOutOfMemory};
  return std::ranges::any_of(kFailures, [code](Code one) { return static_cast<std::uint8_t>(one) == code; });
}

}  // namespace

std::string packet(const Request& request) {
  std::string bytes;
  put(kRequest, bytes);
  put(static_cast<std::uint8_t>(request.kind), bytes);
  for (const std::uint64_t number : {request.id, request.object, request.begin, request.size, request.arena}) {
    put(number, bytes);
  }
  put_text(request.name, bytes);
  put_text(request.page, bytes);
  assert(bytes.size() <= kMostPerMessage);
  return bytes;
}

std::string packet(const Reply& reply) {
  std::string bytes;
  put(kReply, bytes);
  put(reply.failure ? static_cast<std::uint8_t>(*reply.failure) : kSuccess, bytes);
  put(static_cast<std::uint32_t>(reply.os_error), bytes);
  put(static_cast<std::uint8_t>((reply.is_directory ? kDirectory : 0) | (reply.is_settled ? kSettled : 0)), bytes);
  for (const std::uint64_t number :
       {reply.id, reply.object, reply.size, reply.received, static_cast<std::uint64_t>(reply.modified),
        reply.traffic.requests, reply.traffic.bytes, reply.traffic.retries, reply.traffic.cache_hits}) {
    put(number, bytes);
  }
  put_text(reply.text, bytes);
  put_text(reply.version, bytes);
  put_text(reply.page, bytes);
  assert(bytes.size() <= kMostPerMessage);
  return bytes;
}

Result<Request> parse_request(Bytes packet) {
  Cursor cursor(packet);
  const bool is_request = cursor.u8() == kRequest;
  const std::uint8_t kind = cursor.u8();
  Request request;
  for (std::uint64_t* number : {&request.id, &request.object, &request.begin, &request.size, &request.arena}) {
    *number = cursor.u64_le();
  }
  request.name = take_text(cursor);
  request.page = take_text(cursor);
  const bool is_kind =
      kind >= static_cast<std::uint8_t>(RequestKind::kName) && kind <= static_cast<std::uint8_t>(RequestKind::kCancel);
  if (!cursor.ok() || !cursor.at_end() || !is_request || !is_kind) return malformed("no request to a fetcher");
  request.kind = static_cast<RequestKind>(kind);
  return request;
}

Result<Reply> parse_reply(Bytes packet) {
  Cursor cursor(packet);
  const bool is_reply = cursor.u8() == kReply;
  const std::uint8_t code = cursor.u8();
  Reply reply;
  reply.os_error = static_cast<int>(cursor.u32_le());
  const std::uint8_t flags = cursor.u8();
  std::uint64_t modified = 0;
  for (std::uint64_t* number :
       {&reply.id, &reply.object, &reply.size, &reply.received, &modified, &reply.traffic.requests,
        &reply.traffic.bytes, &reply.traffic.retries, &reply.traffic.cache_hits}) {
    *number = cursor.u64_le();
  }
  reply.modified = static_cast<std::int64_t>(modified);
  reply.text = take_text(cursor);
  reply.version = take_text(cursor);
  reply.page = take_text(cursor);
  const bool is_success = code == kSuccess;
  if (!cursor.ok() || !cursor.at_end() || !is_reply || !(is_success || is_failure(code))) {
    return malformed("no reply of a fetcher");
  }
  if (!is_success) reply.failure = static_cast<Code>(code);
  reply.is_directory = (flags & kDirectory) != 0;
  reply.is_settled = (flags & kSettled) != 0;
  return reply;
}

bool append(const Entry& entry, std::string& page) {
  constexpr std::size_t kHeader = 1 + 8 + 8 + 4 + 4;
  if (page.size() + kHeader + entry.name.size() + entry.version.size() > kListPage) return false;
  put(static_cast<std::uint8_t>(entry.is_directory ? kDirectory : 0), page);
  put(entry.size, page);
  put(static_cast<std::uint64_t>(entry.modified), page);
  put_text(entry.name, page);
  put_text(entry.version, page);
  return true;
}

Result<std::vector<Entry>> parse_page(Bytes page) {
  std::vector<Entry> entries;
  Cursor cursor(page);
  while (cursor.ok() && !cursor.at_end()) {
    Entry entry;
    entry.is_directory = (cursor.u8() & kDirectory) != 0;
    entry.size = cursor.u64_le();
    entry.modified = static_cast<std::int64_t>(cursor.u64_le());
    entry.name = take_text(cursor);
    entry.version = take_text(cursor);
    if (!cursor.ok() || !may_be_name(entry.name)) return malformed("no page of a directory");
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace recordfs::remote
