#include "fusefs/tree/mount_tree.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "fusefs/tree/source_directory.h"

namespace recordfs {
namespace {

const std::string& name_of(const MountSource& source) {
  return std::visit([](const auto& either) -> const std::string& { return either.name; }, source);
}

}  // namespace

MountTree::MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings, std::string record_suffix,
                     UserTypes types)
    : cache_{.record_suffix = std::move(record_suffix), .types = std::move(types)} {
  auto* const set = sources.size() == 1 ? std::get_if<DataSetSource>(&sources.front()) : nullptr;
  auto* const database = sources.size() == 1 ? std::get_if<DatabaseSource>(&sources.front()) : nullptr;
  if (set != nullptr) {
    auto made = std::make_unique<DataSetTree>(std::move(*set), cache_, containers_, inodes_);
    data_set_ = made.get();
    insides_ = std::move(made);
  } else {
    insides_ = std::make_unique<ContainerSubtree>(containers_, inodes_);
  }
  root_ = mirrored_ = insides_.get();
  if (database != nullptr) {
    add_database(std::move(*database), std::move(settings));
  } else if (set == nullptr) {
    add_sources(std::move(sources), nested, std::move(settings));
  }
  if (mirror_ == nullptr) inodes_.fix_ranges();
}

void MountTree::add_mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root) {
  mirror_ = std::make_unique<Mirror>(std::move(directories), std::move(settings), is_root, cache_, inodes_, *insides_);
  insides_->set_opener(mirror_.get());
  mirrored_ = mirror_.get();
  if (is_root) root_ = mirrored_;
}

void MountTree::add_database(DatabaseSource source, MirrorSettings settings) {
  FilesDirectory shown;
  if (source.files.directory != nullptr) {
    std::vector<MirroredDirectory> files{std::move(source.files)};
    files.front().name = kDatabaseFilesName;
    add_mirror(std::move(files), std::move(settings), false);
    shown.number = mirror_->number_of_source(0);
    shown.inode = mirror_->inode({}, shown.number);
  }
  const Ownership ownership = source.ownership;
  inodes_.add_own();
  insides_->set_own({.ownership = ownership, .nodes = database_nodes(std::move(source), shown), .is_live = true});
}

void MountTree::add_sources(std::vector<MountSource> sources, bool nested, MirrorSettings settings) {
  nested |= sources.size() != 1;
  std::set<std::string> taken;
  std::vector<TopDirectory> tops;
  std::vector<MirroredDirectory> directories;
  for (MountSource& source : sources) {
    std::string name = name_of(source);
    for (int copy = 2; !taken.insert(name).second; ++copy) name = fmt::format("{}~{}", name_of(source), copy);
    TopDirectory& top = tops.emplace_back(TopDirectory{.name = std::move(name)});
    if (const auto* container = std::get_if<MountedContainer>(&source)) {
      top.container = containers_.size();
      top.number = containers_.add(*container, nested ? &top.name : nullptr);
    } else {
      directories.push_back(std::get<MirroredDirectory>(std::move(source)));
      directories.back().name = top.name;
    }
  }
  if (!directories.empty()) add_mirror(std::move(directories), std::move(settings), !nested);
  if (!nested) return;
  std::size_t mirrored = 0;
  for (TopDirectory& top : tops) {
    if (top.container) continue;
    top.number = mirror_->number_of_source(mirrored++);
    top.inode = mirror_->inode({}, top.number);
  }
  // The root has the owner and permissions of the first source that has any.
  Ownership ownership;
  for (const TopDirectory& top : tops) {
    const auto status = subtree(top.number).status({}, top.number);
    if (status) ownership = status->ownership;
    if (status) break;
  }
  inodes_.add_own();
  insides_->set_own({.ownership = ownership, .nodes = source_directory(containers_, std::move(tops))});
}

Result<std::uint64_t> MountTree::lookup(const RequestContext& context, std::uint64_t directory,
                                        std::string_view name) const {
  ASSIGN_OR_RETURN(const auto named, subtree(directory).lookup(context, directory, name));
  return named.number;
}

Result<FileStatus> MountTree::look_up_and_reference(const RequestContext& context, std::uint64_t directory,
                                                    std::string_view name) const {
  ASSIGN_OR_RETURN(auto named, subtree(directory).lookup(context, directory, name));
  if (named.status) return *std::move(named.status);
  auto found = subtree(named.number).status(context, named.number);
  if (!found) forget(named.number, 1);
  return found;
}

Usage MountTree::usage(const RequestContext& context) const {
  Usage usage;
  if (mirror_ != nullptr) mirror_->add_usage(context, usage);
  insides_->add_usage(usage);
  return usage;
}

}  // namespace recordfs
