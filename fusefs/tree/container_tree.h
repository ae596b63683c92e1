// ContainerTree: the tree of one container: its names, listings, sizes and contents.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fusefs/tree/view.h"

namespace recordfs {

// A snapshot of a container as a tree of nodes. A Node is valid for the lifetime of the tree. Nodes whose
// NodeType::is_permanent is set mean the same in every later snapshot of the file.
//
// The tables in node_types.h say which View serves a node. This class only selects it.
//
// Thread-safe. A function that returns a Result may return kPending in two cases, and the caller repeats the call
// later:
// - The scan has not reached the data. Error::wait names what to wait for: a Catalog or KeyIndex.
// - The function would block or do slow work, and RequestContext does not permit that. Error::wait is then null, and
//   RequestContext::was_refused() is true.
// These functions may read and decode, as far as RequestContext permits, but never wait for a scan. They also fail as
// the functions of RecordStore do.
class ContainerTree {
 public:
  // `cache` must outlive the tree. `number` is unique among the containers that share `cache`, and the same for all
  // snapshots of a followed file.
  ContainerTree(const std::shared_ptr<const RecordStore>& store, CachedFiles& cache, std::uint64_t number);

  const RecordStore& store() const { return *context_.store; }

  // Returns an upper bound on the values of its nodes, for InodeTable::wanted().
  std::uint64_t values() const;

  // Returns the nodes whose attributes, entries or contents may differ from those in `shorter`, an earlier snapshot of
  // the same file. These are the last chunk and everything that sums up the container. May read the file.
  std::vector<Node> changed_since(const ContainerTree& shorter) const;

  // Returns the node that `name` means in a directory. Fails with kNotFound if there is none. Looking up NAME.json
  // decodes the record. A key beyond the listed ones is pending until all records have been read once more for it.
  Result<Node> lookup(Node directory, std::string_view name) const { return ask(&View::lookup, directory, name); }

  // Returns the type and the exact size. For data that cannot be read, the size is the declared one or 1, and never 0.
  // The size of a chunk's info.json costs verifying its checksums; that of records.jsonl, generating all its lines.
  // Fails with kNotFound if a file does not exist. Directories and links are not checked.
  Result<NodeAttributes> attributes(Node node) const { return ask(&View::attributes, node); }

  // Emits the entries of a directory without "." and "..". Starts at `place`: 0, or the `next` of an entry. A place is
  // the number of entries before it, and stays valid as long as the tree. Succeeds once `emit` returned false or every
  // entry was emitted. Also succeeds if it has to wait or fails after its first entries; the next call reports that.
  //
  // A listing of records reads the headers of their chunks, and their record sizes if LayoutCost is kSmall. It decodes
  // a chunk only if the format does not state the number of records. In a listing of more than 1,000,000 records, only
  // the first 250,000 have sizes; so do the first 250,000 keys. inside/ORDINAL parses the record. keys/ is pending
  // until all records have been read once, and damage/ until the scan is over.
  Result<void> list(Node directory, std::uint64_t place, const Emit& emit) const {
    return ask(&View::list, directory, place, emit);
  }

  // Fails with kNotFound if the node is not a link. Does not block.
  Result<std::string> target(Node link) const { return ask(&View::target, link); }

  // Returns up to `length` bytes of a file from `offset`, and fewer only at its end. Fails with kNotFound if the node
  // is not a file.
  Result<Slice> read(Node file, std::uint64_t offset, std::uint64_t length) const {
    return ask(&View::read, file, offset, length);
  }

  // Fails with kNotFound if the node has none of that name (NodeType::extended).
  Result<std::string> extended_attribute(Node node, std::string_view name) const;

  // Returns the parent of a directory, or the root for the root. For a directory inside a record this may parse the
  // record. If that fails, returns the record's directory in inside/.
  Node parent(Node directory) const;

 private:
  // Calls a function of the view that serves `node`. Fails with kNotFound if the container has no such view.
  template <class Value, class... Arguments>
  Result<Value> ask(Result<Value> (View::*function)(Node, Arguments...) const, Node node,
                    std::type_identity_t<Arguments>... arguments) const {
    const View* view = context_.view(node);
    if (view == nullptr) return no_such_name();
    return (view->*function)(node, arguments...);
  }

  static inline std::atomic<std::uint64_t> next_snapshot_{0};

  ViewContext context_;
};

}  // namespace recordfs
