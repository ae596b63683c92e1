#include "core/columns/arrow_interface.h"

#include <cstddef>
#include <utility>

namespace recordfs {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// Owns the children of a structure of the interface, and what it points to. A consumer may move children out of it.
template <class Structure, class Content>
struct Owned {
  explicit Owned(Content wanted) : content(std::move(wanted)) {}
  ~Owned() {
    for (Structure* const child : pointers) {
      if (child->release != nullptr) child->release(child);
    }
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  // Exports the children of the content.
  template <class Export>
  void add_children(const Export& export_one) {
    children.resize(content.children.size());
    pointers.reserve(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      export_one(std::move(content.children[i]), &children[i]);
      pointers.push_back(&children[i]);
    }
  }
  Structure** child_pointers() { return pointers.empty() ? nullptr : pointers.data(); }
  std::int64_t count() const { return static_cast<std::int64_t>(pointers.size()); }

  Content content;
  std::vector<const void*> buffers{};
  std::vector<Structure> children{};
  std::vector<Structure*> pointers{};
};

using OwnedField = Owned<ArrowSchema, ArrowField>;
using OwnedColumn = Owned<ArrowArray, ArrowColumn>;

template <class Owner, class Structure>
void release(Structure* structure) {
  delete static_cast<Owner*>(structure->private_data);
  structure->release = nullptr;
}

// Returns the address of a buffer, which is null only for a missing one.
const void* address_of(const Slice& buffer) {
  static const std::uint64_t kEmpty = 0;
  if (buffer.owner == nullptr) return nullptr;
  return buffer.bytes.empty() ? static_cast<const void*>(&kEmpty) : buffer.bytes.data();
}

}  // namespace

void export_field(ArrowField field, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedField>(std::move(field));
  owned->add_children(export_field);
  *out = {.format = owned->content.format.c_str(),
          .name = owned->content.name.c_str(),
          .metadata = nullptr,
          .flags = owned->content.is_nullable ? kNullable : 0,
          .n_children = owned->count(),
          .children = owned->child_pointers(),
          .dictionary = nullptr,
          .release = &release<OwnedField>,
          .private_data = owned.release()};
}

void export_column(ArrowColumn column, ArrowArray* out) {
  auto owned = std::make_unique<OwnedColumn>(std::move(column));
  for (const Slice& buffer : owned->content.buffers) owned->buffers.push_back(address_of(buffer));
  owned->add_children(export_column);
  *out = {.length = owned->content.length,
          .null_count = owned->content.null_count,
          .offset = 0,
          .n_buffers = static_cast<std::int64_t>(owned->buffers.size()),
          .n_children = owned->count(),
          .buffers = owned->buffers.data(),
          .children = owned->child_pointers(),
          .dictionary = nullptr,
          .release = &release<OwnedColumn>,
          .private_data = owned.release()};
}

}  // namespace recordfs
