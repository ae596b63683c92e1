#include "core/fetch/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "core/hash/digest.h"

namespace recordfs::fetch {
namespace {

using remote::kBlock;

constexpr std::string_view kMagic = "recordfs blocks 1\n";
constexpr std::string_view kSuffix = ".blocks";
constexpr std::uint64_t kHeader = 4096;
constexpr std::uint64_t kSum = sizeof(std::uint64_t);
constexpr std::uint64_t kLargestObject = 1ull << 50;  // bytes: the table of checksums has at most 32 GiB, and is sparse

std::string hex(const Digest& digest) {
  std::string text;
  for (const std::byte byte : digest.view()) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::string key_of(const std::string& name, const std::string& version, std::uint64_t size) {
  Digester digester(DigestId::kSha256);
  digester.append(as_bytes(fmt::format("{}\n{}\n{}\n", name, version, size)));
  return hex(digester.finish());
}

std::uint64_t blocks_of(std::uint64_t size) { return size / kBlock + (size % kBlock != 0 ? 1 : 0); }

std::array<std::byte, kSum> to_bytes(std::uint64_t number) {
  std::array<std::byte, kSum> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  return bytes;
}

std::uint64_t to_number(const std::array<std::byte, kSum>& bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) number |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return number;
}

std::uint64_t allocated(const struct stat& st) { return static_cast<std::uint64_t>(st.st_blocks) * 512; }

// Makes a folder and those above it, as only their owner may use them.
void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
    if (end == std::string::npos) return;
  }
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Writes a file and gives it its name when it is complete. Returns whether that has succeeded.
bool create_file(int folder, const std::string& name, Bytes header) {
  const std::string unfinished = fmt::format("{}.{}.new", name, ::getpid());
  ::unlinkat(folder, unfinished.c_str(), 0);
  const Descriptor made(::openat(folder, unfinished.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!made) return false;
  const bool is_done =
      write_fully(made.number(), 0, header) && ::renameat(folder, unfinished.c_str(), folder, name.c_str()) == 0;
  if (!is_done) ::unlinkat(folder, unfinished.c_str(), 0);
  return is_done;
}

}  // namespace

// --- CachedObject

CachedObject::CachedObject(DiskCache& cache, Descriptor file, std::uint64_t size)
    : cache_(cache), file_(std::move(file)), size_(size) {}

std::uint64_t CachedObject::blocks() const { return blocks_of(size_); }

std::uint64_t CachedObject::size_of(std::uint64_t block) const { return std::min(kBlock, size_ - block * kBlock); }

std::uint64_t CachedObject::place_of(std::uint64_t block) const {
  const std::uint64_t table = kHeader + blocks() * kSum;
  return (table + kHeader - 1) / kHeader * kHeader + block * kBlock;
}

bool CachedObject::read(std::uint64_t block, MutableBytes out) {
  std::array<std::byte, kSum> stored{};
  if (!read_fully(file_.number(), kHeader + block * kSum, stored) || are_zeros(stored)) return false;
  if (read_fully(file_.number(), place_of(block), out) && block_sum(block, out) == to_number(stored)) return true;
  write_fully(file_.number(), kHeader + block * kSum, to_bytes(0));
  return false;
}

void CachedObject::write(std::uint64_t begin, Bytes bytes, const BlockSums& sums) {
  if (sums.sums().empty() || !make_room(bytes.size())) return;
  for (const auto& [block, sum] : sums.sums()) {
    if (!store(block, sum, begin, bytes)) return;
  }
}

bool CachedObject::make_room(std::uint64_t bytes) { return cache_.make_room(file_.number(), bytes); }

bool CachedObject::store(std::uint64_t block, std::uint64_t sum, std::uint64_t begin, Bytes bytes) const {
  const std::uint64_t at = block * kBlock - begin;
  if (block * kBlock < begin || at > bytes.size() || size_of(block) > bytes.size() - at) return true;
  const Bytes of_block = bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size_of(block)));
  // The checksum last: a block that is written in part has none, or the one of the same bytes.
  return write_fully(file_.number(), place_of(block), of_block) &&
         write_fully(file_.number(), kHeader + block * kSum, to_bytes(sum));
}

// --- DiskCache

Result<std::unique_ptr<DiskCache>> DiskCache::open(const std::string& folder, std::uint64_t limit) {
  make_folders(folder);
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return system_error(errno);
  struct stat st {};
  if (::fstat(opened.number(), &st) != 0) return system_error(errno);
  if (st.st_uid != ::geteuid()) return Error{.code = Code::kIo, .detail = "belongs to another user", .os_error = EPERM};
  constexpr mode_t kOthers = 077;
  if ((st.st_mode & kOthers) != 0 && ::fchmod(opened.number(), 0700) != 0) return system_error(errno);
  return std::unique_ptr<DiskCache>(new DiskCache(std::move(opened), limit));
}

std::shared_ptr<CachedObject> DiskCache::object(const std::string& name, const std::string& version,
                                                std::uint64_t size) {
  if (size == 0 || size > kLargestObject) return nullptr;
  const std::string key = key_of(name, version, size);
  const std::string header = fmt::format("{}{}\n{}\n", kMagic, key, size);
  Descriptor file = open_file(key + std::string(kSuffix), as_bytes(header));
  if (!file) return nullptr;
  ::futimens(file.number(), nullptr);  // used now
  return std::shared_ptr<CachedObject>(new CachedObject(*this, std::move(file), size));
}

Descriptor DiskCache::open_file(const std::string& name, Bytes header) {
  constexpr int kTries = 2;
  for (int i = 0; i < kTries; ++i) {
    Descriptor file(::openat(folder_.number(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (file) {
      std::vector<std::byte> found(header.size());
      if (read_fully(file.number(), 0, found) && std::ranges::equal(found, header)) return file;
    }
    if (!create_file(folder_.number(), name, header)) return {};
  }
  return {};
}

bool DiskCache::make_room(int file, std::uint64_t bytes) {
  constexpr std::uint64_t kPartOfLimit = 16;  // written between two examinations
  written_ += bytes;
  if (!was_examined_ || written_ > limit_ / kPartOfLimit) {
    was_examined_ = true;
    written_ = 0;
    remove_oldest();
  }
  // One object does not drive out all others.
  struct stat st {};
  return !is_full_ && ::fstat(file, &st) == 0 && st.st_nlink > 0 && allocated(st) + bytes <= limit_ / 2;
}

void DiskCache::remove_oldest() {
  struct File {
    std::string name;
    std::uint64_t bytes;
    timespec used;
  };
  const int copy = ::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseFolder> folder(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!folder) return;
  std::vector<File> files;
  std::uint64_t bytes = 0;
  while (const dirent* const entry = ::readdir(folder.get())) {
    struct stat st {};
    if (::fstatat(folder_.number(), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    files.push_back({entry->d_name, allocated(st), st.st_mtim});
    bytes += files.back().bytes;
  }
  // Below the limit, so that this is not needed again at once.
  const std::uint64_t most = limit_ - limit_ / 8;
  std::ranges::sort(files, [](const File& a, const File& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const File& file : files) {
    if (bytes <= most) break;
    if (::unlinkat(folder_.number(), file.name.c_str(), 0) == 0) bytes -= file.bytes;
  }
  struct statvfs filesystem {};
  constexpr std::uint64_t kFreePart = 20;
  is_full_ = ::fstatvfs(folder_.number(), &filesystem) == 0 && filesystem.f_bavail < filesystem.f_blocks / kFreePart;
}

std::string default_cache_folder() {
  const auto value_of = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string above = value_of("XDG_CACHE_HOME");
  if (!above.starts_with('/')) {
    above = value_of("HOME");
    if (!above.starts_with('/')) return {};
    above += "/.cache";
  }
  return above + "/recordfs/blocks";
}

}  // namespace recordfs::fetch
