// The messages between a process that reads remote files and its fetcher, the program recordfs-fetch.
//
// The fetcher has the network and all secrets; the other process, its client, parses what is fetched and has neither.
// Messages go over a SOCK_SEQPACKET socket, one message a packet. Bytes of objects go through the arena, a memory file
// that both have mapped: the client names the part that a reply may fill, and leaves it alone until that reply.
// Neither side trusts the other: parse() checks what it can, and the receiver checks what refers to its own state.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs::remote {

// Open in a fetcher when it starts.
inline constexpr int kSocketDescriptor = 3;
inline constexpr int kArenaDescriptor = 4;

inline constexpr std::uint64_t kBlock = 256u << 10;      // bytes: objects are read and cached in such blocks
inline constexpr std::uint64_t kMostPerRead = 8u << 20;  // bytes of one kRead
inline constexpr std::uint64_t kListPage = 2u << 20;     // bytes of the arena that a kList needs
inline constexpr std::size_t kMostPerMessage = 32u << 10;
// As long as it has requests, a fetcher sends something at least this often.
inline constexpr std::chrono::milliseconds kLongestSilence{500};

enum class RequestKind : std::uint8_t {
  kName = 1,  // of a URL with or without secrets: replies its printable name, which other requests use from then on
  kOpen,      // of an object: replies its snapshot, and reads its first bytes or others
  kRead,      // of an opened object
  kStatus,    // of an object or directory
  kList,      // of one page of a directory
  kClose,     // of an opened object; has no reply
  kCancel,    // of a request, which is then replied soon, if it has not been; has no reply itself
};

struct Request {
  std::uint64_t id = 0;  // chosen by the client; not 0, and not that of a request without reply
  RequestKind kind = RequestKind::kName;
  std::uint64_t object = 0;  // of kRead and kClose: Reply::object; of kCancel: the id of a request
  std::uint64_t begin = 0;  // of kRead and kOpen: the first byte of the object; kOpen fails with kChanged after its end
  std::uint64_t size = 0;   // bytes of the arena that the reply may fill; of kOpen: the bytes to read, at least 1
  std::uint64_t arena = 0;  // the first of them
  std::string name{};       // of kName: a URL; of kOpen, kStatus and kList: a printable name
  std::string page{};       // of kList: Reply::page of the page before; empty: the first page
};

// What a fetcher has done since it started.
struct Traffic {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;       // of bodies
  std::uint64_t retries = 0;     // among the requests
  std::uint64_t cache_hits = 0;  // blocks that were read from the disk
};

struct Reply {
  std::uint64_t id = 0;           // of the request; 0: of none, but says that the fetcher is at work
  std::optional<Code> failure{};  // kIo, kChanged, kInterrupted, kLimit, kUnsupported or kOutOfMemory; nullopt: success
  int os_error = 0;               // of kIo: ENOENT, ENOTDIR, EACCES, ETIMEDOUT, EIO, ...
  std::string text{};             // of a failure: why, without secrets; of kName: the printable name
  std::uint64_t object = 0;       // of kOpen: what names it in later requests
  std::uint64_t size = 0;         // of kOpen and kStatus: bytes of the object
  std::uint64_t received = 0;     // bytes of the arena that are filled
  std::int64_t modified = 0;      // of kOpen and kStatus: seconds since 1970; 0: not known
  bool is_directory = false;      // of kStatus
  bool is_settled = false;        // of kOpen and kStatus: any other bytes would have another version
  std::string version{};          // of kOpen and kStatus: a strong ETag or the like; printable, without spaces
  std::string page{};             // of kList: names the next page; empty: this is the last one
  Traffic traffic{};
};

// An entry of a page of a directory, as it is in the arena.
struct Entry {
  std::string name{};  // without slashes; characters are not encoded
  bool is_directory = false;
  std::uint64_t size = 0;     // bytes; 0 of a directory
  std::int64_t modified = 0;  // seconds since 1970; 0: the server does not tell
  std::string version{};      // of an object; empty: the server does not tell
};

// Return the packet for a message. REQUIRES: it is at most kMostPerMessage long.
std::string packet(const Request& request);
std::string packet(const Reply& reply);

// Return the message in a packet. Fail with kDamage if it is none.
Result<Request> parse_request(Bytes packet);
Result<Reply> parse_reply(Bytes packet);

// Appends an entry to a page. Returns false, and appends nothing, if that would make the page longer than kListPage.
bool append(const Entry& entry, std::string& page);
// Returns the entries of a page. Fails with kDamage if they are not in the form that append() writes, or if a name is
// empty, ".", "..", or contains a slash or a zero byte.
Result<std::vector<Entry>> parse_page(Bytes page);

}  // namespace recordfs::remote
