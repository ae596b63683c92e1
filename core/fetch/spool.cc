#include "core/fetch/spool.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "core/base/file_io.h"

namespace recordfs::fetch {
namespace {

std::uint64_t bytes_in_all = 0;  // used by one thread

}  // namespace

Spool::Spool(Descriptor file, std::uint64_t size) : file_(std::move(file)), size_(size) { bytes_in_all += size_; }

Spool::~Spool() { bytes_in_all -= size_; }

Result<std::shared_ptr<Spool>> Spool::create(int folder, std::uint64_t size) {
  if (size > kMostInAll - bytes_in_all) {
    return Error{.code = Code::kLimit, .detail = "too many open files from servers that ignore range requests"};
  }
  Descriptor file;
  if (folder >= 0) file = Descriptor(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  // A full disk is found now, and not in the middle of the object.
  const bool has_room = !file || size == 0 || ::fallocate(file.number(), 0, 0, static_cast<off_t>(size)) == 0;
  if (!has_room && errno != EOPNOTSUPP) file = Descriptor();
  if (!file) file = Descriptor(::memfd_create("spool", MFD_CLOEXEC));
  if (!file) return system_error(errno);
  return std::shared_ptr<Spool>(new Spool(std::move(file), size));
}

bool Spool::append(Bytes bytes) {
  if (bytes.size() > size_ - filled_ || !write_fully(file_.number(), filled_, bytes)) return false;
  filled_ += bytes.size();
  return true;
}

bool Spool::read(std::uint64_t at, MutableBytes out) const {
  return at <= filled_ && out.size() <= filled_ - at && read_fully(file_.number(), at, out);
}

}  // namespace recordfs::fetch
