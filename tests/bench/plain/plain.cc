#include "tests/bench/plain/plain.h"

#include <fcntl.h>
#include <highwayhash/c_bindings.h>
#include <isa-l/crc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace recordfs::bench {
namespace {

constexpr std::size_t kWrittenAtOnce = 1u << 17;

unsigned char* octets(std::string_view bytes) {
  return reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));  // ISA-L does not modify them
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0) fail("cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// ISA-L leaves the upper halves of the vector registers in use, and then every SSE instruction waits for them.
#if defined(__x86_64__)
[[gnu::target("avx")]] void zero_upper_halves() { __builtin_ia32_vzeroupper(); }

void clear_upper_registers() {
  static const bool has_them = static_cast<bool>(__builtin_cpu_supports("avx"));
  if (has_them) zero_upper_halves();
}
#else
void clear_upper_registers() {}
#endif

}  // namespace

void fail(const char* reason) {
  std::fprintf(stderr, "plain_readers: %s\n", reason);
  std::exit(1);
}

Input::Input(const char* path, std::size_t piece)
    : file_(open(path, O_RDONLY | O_CLOEXEC)), room_(piece), buffer_(std::make_unique_for_overwrite<char[]>(room_)) {
  if (file_ < 0) fail("cannot open the file");
}

void Input::fill(std::size_t size) {
  const std::size_t left = end_ - at_;
  if (room_ < size) {
    auto larger = std::make_unique_for_overwrite<char[]>(size);
    std::memcpy(larger.get(), buffer_.get() + at_, left);
    buffer_ = std::move(larger);
    room_ = size;
  } else {
    std::memmove(buffer_.get(), buffer_.get() + at_, left);
  }
  at_ = 0;
  for (end_ = left; end_ < size;) {
    const ssize_t got = read(file_, buffer_.get() + end_, room_ - end_);
    if (got < 0) fail("cannot read the file");
    if (got == 0) return;
    end_ += static_cast<std::size_t>(got);
  }
}

void Input::seek(std::uint64_t position) {
  if (lseek(file_, static_cast<off_t>(position), SEEK_SET) < 0) fail("cannot seek");
  at_ = end_ = 0;
}

std::string Input::at(std::uint64_t position, std::size_t size) const {
  std::string bytes(size, '\0');
  if (pread(file_, bytes.data(), size, static_cast<off_t>(position)) != static_cast<ssize_t>(size)) {
    fail("the file is truncated");
  }
  return bytes;
}

std::uint64_t Input::size() const {
  struct stat status {};
  if (fstat(file_, &status) != 0) fail("cannot stat the file");
  return static_cast<std::uint64_t>(status.st_size);
}

void Output::write(std::string_view record) {
  if (pending_.size() + record.size() > kWrittenAtOnce) flush();
  if (record.size() > kWrittenAtOnce) return write_all(record);
  pending_.insert(pending_.end(), record.begin(), record.end());
}

void Output::flush() {
  write_all({pending_.data(), pending_.size()});
  pending_.clear();
}

std::uint32_t plain_crc32(std::string_view bytes) {
  const std::uint32_t crc = crc32_gzip_refl(0, octets(bytes), bytes.size());
  clear_upper_registers();
  return crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = ~crc32_iscsi(octets(bytes), static_cast<int>(bytes.size()), ~0u);
  clear_upper_registers();
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::uint64_t plain_riegeli_hash(std::string_view bytes) {
  // "Riegeli/", "records\n", twice.
  static constexpr HHKey kKey = {0x2F696C6567656952, 0x0A7364726F636572, 0x2F696C6567656952, 0x0A7364726F636572};
  return HighwayHash64(kKey, bytes.data(), bytes.size());
}

}  // namespace recordfs::bench
