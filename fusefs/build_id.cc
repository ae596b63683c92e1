#include "fusefs/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/bytes.h"

namespace recordfs {
namespace {

std::string hexadecimal(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

// The build id among a segment's notes, each of which is a header, a name, and a description, padded to `alignment`.
std::string build_id_in(Bytes notes, std::size_t alignment) {
  const auto padded = [&](std::size_t size) { return (size + alignment - 1) / alignment * alignment; };
  const std::string_view owner("GNU\0", 4);
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    const std::size_t name_end = sizeof header + header.n_namesz;
    const std::size_t begin = padded(name_end);
    if (begin > notes.size() || header.n_descsz > notes.size() - begin) break;
    const std::string_view name = as_text(notes.subspan(sizeof header, header.n_namesz));
    if (header.n_type == NT_GNU_BUILD_ID && name == owner) return hexadecimal(notes.subspan(begin, header.n_descsz));
    notes = notes.subspan(std::min(padded(begin + header.n_descsz), notes.size()));
  }
  return {};
}

// Called for the program itself first.
int find_build_id(dl_phdr_info* program, std::size_t, void* found) {
  for (std::size_t i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto address = program->dlpi_addr + segment.p_vaddr;
    const auto* begin = reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
    const Bytes notes(begin, segment.p_memsz);
    std::string id = build_id_in(notes, std::max<std::size_t>(segment.p_align, 4));
    if (id.empty()) continue;
    *static_cast<std::string*>(found) = std::move(id);
    break;
  }
  return 1;  // no shared library's
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

}  // namespace recordfs
