#include "core/store/open_container.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/descriptor.h"
#include "core/base/read_window.h"
#include "core/formats/foreign_file.h"
#include "core/formats/registry.h"
#include "core/store/index_file.h"
#include "core/store/wrapped_file.h"

namespace recordfs {
namespace {

constexpr std::size_t kPiece = 64u << 10;
constexpr std::size_t kLargestFile = 256u << 20;

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(errno);
  std::string bytes;
  std::array<char, kPiece> piece{};
  for (;;) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno);
    if (got == 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (bytes.size() > kLargestFile) return Error{.code = Code::kLimit, .detail = "too large for a descriptor file"};
  }
}

constexpr unsigned kMostExecutorThreads = 16;

// Returns the default directory for catalogs, or nullopt if the environment names none.
std::optional<std::string> cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";  // the XDG specification ignores relative paths
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/recordfs";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/recordfs";
  return std::nullopt;
}

// Makes the path absolute, because the daemon changes its directory.
Result<std::string> named_directory(const std::string& named) {
  std::error_code failure;
  const auto from_root = std::filesystem::absolute(named, failure);
  if (failure) return Error{.code = Code::kIo, .detail = failure.message()};
  const auto real = std::filesystem::weakly_canonical(from_root, failure);
  if (failure) return Error{.code = Code::kIo, .detail = failure.message()};
  return real.string();
}

// Returns why a file is not a container. Of a file of a database, that names what reads it; of a compressed file and an
// archive, that says how to unpack it; of an empty file, that only its name could tell.
Error explained(Error why, const RequestContext& context, const Source& source, const std::string& path) {
  if (why.code != Code::kNoContainer) return why;
  const auto head = read_up_to(context, source, 0, kWrappedHead);
  if (!head) return why;
  if (head->view().empty()) {
    why.detail = path == "-" ? "empty, not a record container"
                             : "empty file, not a record container (its name does not tell a format)";
  }
  if (auto text = wrapped_file(head->view(), path, source.is_remote())) why.detail = std::move(*text);
  const auto foreign = recognize_foreign_file(context, source);
  if (foreign && *foreign) why.detail = (*foreign)->text();
  return why;
}

const Format* format_of_hash(std::uint64_t hash) {
  const auto found =
      std::ranges::find_if(formats(), [&](const Format& each) { return hash_of_format(each.name) == hash; });
  return found == formats().end() ? nullptr : &*found;
}

// Opens a source with the format that a saved index names, which spares the reads that tell formats apart. Otherwise
// fails as recordfs::open_container().
Result<std::unique_ptr<Container>> open_known(const RequestContext& context, const StoreResources& services,
                                              const std::shared_ptr<const Source>& source, std::string_view name,
                                              const Limits& limits) {
  const auto id = services.index ? source->id() : std::nullopt;
  const auto known = id ? saved_format(context, *services.index, *id) : std::nullopt;
  if (const Format* const format = known ? format_of_hash(*known) : nullptr) {
    auto opened = format->open(context, source, limits);
    if (opened || opened.error().code != Code::kNoContainer) return opened;
  }
  return open_container(context, source, name, limits);
}

}  // namespace

Result<UserTypes> read_user_types(const std::string& descriptors, const std::string& type) {
  if (descriptors.empty()) return UserTypes{.type = type.starts_with('.') ? type.substr(1) : type};
  ASSIGN_OR_RETURN(auto bytes, read_file(descriptors));
  return user_types(std::move(bytes), type);
}

Result<OpenedFile> open_file(const RequestContext& context, const Location& location, const Limits& limits,
                             StoreResources& services, const std::string& shown) {
  ASSIGN_OR_RETURN(auto file, open_source(context, location));
  return open_file(context, std::move(file), limits, services, shown.empty() ? location.text() : shown);
}

Result<OpenedFile> open_file(const RequestContext& context, std::shared_ptr<const Source> file, const Limits& limits,
                             StoreResources& services, const std::string& shown) {
  const auto source = services.windowed(file);
  std::string name(file->name());
  // What a format keeps of its headers has checksums, or is compared with the file's size.
  auto container = open_known(context.filling_unreadable(), services, source, name, limits);
  if (!container && (is_permanent(container.error().code) || container.error().code == Code::kNoContainer)) {
    if (auto unreadable = source->unreadable_in(0, source->size())) return std::move(*unreadable);
  }
  if (!container) return explained(std::move(container).error(), context, *source, shown);
  for (const Fact& fact : (*container)->traits().facts) {
    if (fact.name != "note") continue;
    services.log(Severity::kWarning, fmt::format("{}: {}", shown, std::get<std::string>(fact.value)));
  }
  return OpenedFile{.name = std::move(name),
                    .store = std::make_shared<RecordStore>(shown, source, std::move(*container), services),
                    .source = std::move(file)};
}

void expect_open(const RequestContext& context, const Location& location, std::optional<std::uint64_t> ordinal,
                 const StoreResources& services) {
  // Bytes that formats read when they open a file.
  constexpr std::uint64_t kHead = 64u << 10;
  constexpr std::uint64_t kHeadWithMetadata = 512u << 10;
  constexpr std::uint64_t kTail = 256u << 10;
  if (!services.index) return;
  location.storage().expect_reads(location, [&](const std::string& source) -> std::vector<ByteRange> {
    const auto place = saved_place(context, *services.index, source, ordinal);
    if (!place) return {};
    std::vector<ByteRange> reads;
    if (place->begin < place->end) reads.push_back({place->begin, place->end});
    const Format* const format = format_of_hash(place->format);
    const bool has_tail = format != nullptr && format->opens_from_end;
    if (has_tail) reads.push_back({place->size - std::min(kTail, place->size), place->size});
    if (!reads.empty()) reads.push_back({0, std::min(ordinal ? kHead : kHeadWithMetadata, place->size)});
    return reads;
  });
}

void expect_open_among(const RequestContext& context, std::span<const std::string> files, std::uint64_t ordinal,
                       const StoreResources& services) {
  if (!services.index) return;
  for (const std::string& file : files) {
    const Location location(file);
    std::optional<SavedPlace> saved;
    location.storage().expect_reads(location, [&](const std::string& source) -> std::vector<ByteRange> {
      saved = saved_place(context, *services.index, source, std::nullopt);
      return {};
    });
    if (!saved) return;
    if (ordinal < saved->records) return expect_open(context, location, ordinal, services);
    ordinal -= saved->records;
  }
}

Result<bool> is_container(const RequestContext& context, const Source& source, std::string_view file_name) {
  if (source.size() == 0) return false;
  const auto format = probe(context, source, file_name, ProbeDepth::kHead);
  if (format) return true;
  if (format.error().code == Code::kNoContainer) return false;
  return format.error();
}

Result<bool> is_container_file(const Location& location) {
  ASSIGN_OR_RETURN(const auto file, open_source({}, location));
  return is_container({}, *file, file->name());
}

bool should_be_container(const Location& location) {
  if (!has_container_name(location.name())) return false;
  const auto status = status_of({}, location);
  return status && status->size > 0;
}

std::string open_failure(const std::string& path, const Error& error) {
  const bool has_position = error.code != Code::kIo && error.code != Code::kNoContainer &&
                            error.code != Code::kUnreadable && error.code != Code::kNotFound;
  if (!has_position) return fmt::format("{}: {}", path, error.detail);
  return fmt::format("{}: {}", path, to_string(error));
}

Result<std::optional<IndexLocation>> index_place(const std::string& index, const Limits& limits) {
  if (index == "no") return std::optional<IndexLocation>{};
  std::optional<std::string> directory;
  std::shared_ptr<const IndexFile> file;
  if (index.ends_with(kIndexSuffix)) {
    ASSIGN_OR_RETURN(file, read_index_file(index));
    directory = cache_directory().value_or("");
  } else if (index == "auto") {
    directory = cache_directory();
  } else if (auto named = named_directory(index)) {
    directory = std::move(*named);
  } else {
    return std::move(named).error();
  }
  if (!directory) return std::optional<IndexLocation>{};
  return std::optional(IndexLocation{.directory = *directory,
                                     .settings = fmt::format("{} {}", limits.stored_chunk, limits.decoded_chunk),
                                     .program = build_id(),
                                     .named = std::move(file)});
}

unsigned executor_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMostExecutorThreads - 1) + 1;
}

}  // namespace recordfs
