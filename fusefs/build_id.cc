#include "fusefs/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
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

// Returns the build id in the notes of a segment. Each note is a header, a name, and a description, padded to
// `alignment`.
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

// Called for the program itself first. PT_PHDR gives the address of the segment table, from which the others are found.
int find_build_id(dl_phdr_info* program, std::size_t, void* found) {
  const std::span segments(program->dlpi_phdr, program->dlpi_phnum);
  const auto table = std::ranges::find(segments, ElfW(Word){PT_PHDR}, &ElfW(Phdr)::p_type);
  if (table == segments.end()) return 1;
  const auto* const table_begin = reinterpret_cast<const std::byte*>(segments.data());
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    const auto distance = static_cast<std::ptrdiff_t>(segment.p_vaddr - table->p_vaddr);
    const Bytes notes(table_begin + distance, segment.p_memsz);
    std::string id = build_id_in(notes, std::max<std::size_t>(segment.p_align, 4));
    if (id.empty()) continue;
    *static_cast<std::string*>(found) = std::move(id);
    break;
  }
  return 1;  // stops before shared libraries
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

}  // namespace recordfs
