// What the sources of a process share: its fetcher, the names of URLs, and the blocks in memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/location.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/remote/block_cache.h"
#include "core/remote/fetcher.h"

namespace recordfs::remote {

// What users choose. Each has a default.
struct Options {
  std::chrono::seconds timeout{60};        // of each request, with all its retries
  std::uint64_t memory_bytes = 64u << 20;  // of blocks in memory
  std::uint64_t pass_bytes = 128u << 20;   // requested by passes over larger objects, and not yet read
  bool sign = true;                        // requests of schemes that have credentials
  bool uses_disk = true;                   // keeps blocks in files
  std::uint64_t disk_bytes = 0;            // of these; 0: the fetcher's default
};

// The kind of process that reads URLs.
enum class Host : std::uint8_t {
  kProgram,  // erases secrets from its environment; of forked processes, only one uses remote files
  kModule,   // of a program of others: a forked process starts a fetcher of its own
};

// Thread-safe.
class Session {
 public:
  using Start = std::function<Result<std::shared_ptr<Fetcher>>(bool is_first)>;

  // Starts fetchers by calling `start`: the first one, and others after one has ended. `memory_bytes` of blocks are
  // kept; 0: as the options say.
  Session(std::uint64_t memory_bytes, Start start) : memory_bytes_(memory_bytes), start_(std::move(start)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Returns the session of this process.
  static Session& of_process();
  // Must be called before the first remote Location is made, by add_remote_storages().
  static void begin(Host host);
  // Sets the options of requests from now on. Call it before the first one; later, what has begun stays as it is.
  static void set_options(const Options& options);

  // Returns the fetcher, which this starts if there is none. Fails with kIo.
  Result<std::shared_ptr<Fetcher>> fetcher();
  // The same, for requests that name `text`, which this makes known to the fetcher. Also fails like Fetcher::ask().
  Result<std::shared_ptr<Fetcher>> fetcher_for(const RequestContext& context, const std::string& text);

  // Returns the text of a Location; see Storage::text_of(). Starts this process' fetcher if the URL may have a secret.
  static std::string text_of(std::string word, Location::NamedBy by);

  // Returns the text of the object whose name is that of another one with `suffix` appended; empty if the URL of the
  // other one has more than a path. May go where the other one may.
  static std::string text_beside(const std::string& text, std::string_view suffix);

  BlockCache& blocks();
  // Returns Options::pass_bytes.
  std::uint64_t pass_bytes() const;
  // Returns what the fetcher has done; zeros if there is none.
  Traffic traffic();
  // Returns whether blocks are kept in files, as the options say.
  static bool uses_disk();
  // Returns whether a remote Location was made, by this process or one that has forked it.
  static bool is_used();

 private:
  static Result<std::string> name(const RequestContext& context, Fetcher& fetcher, const std::string& word,
                                  Location::NamedBy by);
  bool is_known(const std::string& text) const;  // REQUIRES: mutex_ is held
  static void replace_in_child();

  const std::uint64_t memory_bytes_;
  const Start start_;
  std::once_flag has_blocks_;
  std::optional<BlockCache> blocks_;
  std::mutex mutex_;  // guards the following; held while the fetcher starts
  std::shared_ptr<Fetcher> fetcher_;
  std::set<std::string> known_;  // the texts that the fetcher knows
};

// Returns whether a URL may have secrets in it: userinfo, or a query that a signature is part of.
bool may_have_secrets(const std::string& url);

// Returns a URL without userinfo and query, for where the fetcher cannot tell its printable name.
std::string without_secrets(const std::string& url);

}  // namespace recordfs::remote
