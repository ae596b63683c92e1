#include "fusefs/tree/mirror/mirrored_sources.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace recordfs {
namespace {

constexpr mode_t kReadAndSearch = 0555;  // no write permissions, because a mirror is read-only

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

Error as_stale(Error error) { return error.code == Code::kNotFound ? stale_error() : std::move(error); }

Result<Looked> MirroredSources::look(const RequestContext& context, const MirroredNode& node) const {
  auto found = of(node).look(context, node.path);
  if (!found) return as_stale(std::move(found).error());
  const bool is_same = node.type == MirroredType::kRecordfs ? found->state.device == node.state.device
                                                            : found->state.is_same_file(node.state);
  if (!is_same || found->is_recordfs != (node.type == MirroredType::kRecordfs)) return stale_error();
  return found;
}

std::string MirroredSources::shown_path(const MirroredNode& node) const {
  if (is_root_) return node.path;
  const std::string& top = directories_[node.source].name;
  return node.path.empty() ? top : top + "/" + node.path;
}

std::uint64_t MirroredSources::inode(const MirroredNode& node) const {
  const std::string path = shown_path(node);
  return path.empty() ? kMountRoot : mirrored_inode(path);
}

std::uint64_t MirroredSources::parent_inode(const MirroredNode& node) const {
  const std::string parent = parent_path(shown_path(node));
  return parent.empty() ? kMountRoot : mirrored_inode(parent);
}

Ownership MirroredSources::ownership_of(MirroredType type, const FileState& state) const {
  const mode_t mode = state.mode & kReadAndSearch;
  Ownership ownership{state.uid, state.gid, mode, mode, state.modified};
  if (type == MirroredType::kContainer) {
    ownership = container_ownership(state.uid, state.gid, state.mode, state.modified);
  } else if (type == MirroredType::kRecordfs) {
    ownership = {::geteuid(), ::getegid(), mode, kReadAndSearch, state.modified};
  }
  if (adjust_) adjust_(ownership);
  return ownership;
}

FileStatus MirroredSources::status_of(const MirroredNode& node, const FileState& state) const {
  const FileType type = shown_type(node.type);
  return {.number = node.number,
          .inode = inode(node),
          .type = type,
          .size = type == FileType::kDirectory ? 0 : state.size,
          .ownership = ownership_of(node.type, state),
          .cache_policy = node.type == MirroredType::kContainer ? CachePolicy::kNumber : CachePolicy::kNone};
}

}  // namespace recordfs
