// Files that are one stream of the store: those in streams/, array.npy, and index/chunks.tsv.
#include "fusefs/tree/views.h"

namespace recordfs {
namespace {

class StreamsView : public View {
 public:
  using View::View;

  Result<std::uint64_t> size(const RequestContext&, Node file) const override {
    ASSIGN_OR_RETURN(const auto stream, stream_of(file));
    return store().streams().size(stream);
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    ASSIGN_OR_RETURN(const auto stream, stream_of(file));
    return store().streams().read(context, stream, offset, length);
  }

 private:
  static Result<Stream> stream_of(Node file) {
    if (file.value == kConcat) return Stream::kConcat;
    if (file.value == kLines) return Stream::kLines;
    if (file.value == kChunkRows) return Stream::kChunkRows;
    if (file.value == kWhole) return Stream::kArray;
    return no_such_name();
  }
};

}  // namespace

ViewPointer make_streams_view(const ContainerTree& tree) { return std::make_unique<StreamsView>(tree); }

ViewPointer make_array_view(const ContainerTree& tree) {
  return tree.store().array() == nullptr ? nullptr : make_streams_view(tree);
}

}  // namespace recordfs
