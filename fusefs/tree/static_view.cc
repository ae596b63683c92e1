// The directories whose entries all have fixed names, and the files in them: generated texts, streams, and the trailer.
#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

class StaticView : public ContainerView {
 public:
  using ContainerView::ContainerView;

  Result<std::uint64_t> size(const RequestContext& context, Node file) const override {
    return file.value == kTrailer ? shown_size(contents(context, file)) : View::size(context, file);
  }

  Result<Slice> contents(const RequestContext& context, Node file) const override {
    if (file.value == kTrailer) return trailer(context);
    ASSIGN_OR_RETURN(const auto text, texts_.get(file.value, [&] { return make_text(context, file.value); }));
    return Slice{as_bytes(*text), text};
  }

 private:
  Result<std::string> make_text(const RequestContext& context, std::uint64_t node) const {
    if (node == kInfo) {
      ASSIGN_OR_RETURN(const auto info, store().log().reported(context, container_info(context, store())));
      return to_json(info, JsonLayout::kIndented);
    }
    if (node != kDamageRows && node != kSummary) return no_such_name();
    ASSIGN_OR_RETURN(const auto damage, store().index().damage());
    if (node == kDamageRows) return damage_table(*damage);
    ASSIGN_OR_RETURN(const auto totals, store().index().totals(ScanDetail::kSizes));
    JsonObject summary;
    add_totals(summary, store(), totals, *damage);
    return to_json(summary, JsonLayout::kIndented);
  }

  Result<Slice> trailer(const RequestContext& context) const {
    constexpr Position kKey = kEverything;  // no chunk begins there
    const auto make = [&]() -> Result<std::shared_ptr<const CachedBytes>> {
      ASSIGN_OR_RETURN(auto made, (*store().trailer())(context));
      return std::make_shared<const CachedBytes>(CachedBytes{std::move(made)});
    };
    const auto known = cache().contents.get(context, {tree().snapshot(), kKey}, make);
    if (known) return Slice{(*known)->bytes.view(), *known};
    store().log().report(context, known.error());
    return known.error();
  }

  const LazyMap<std::string> texts_{};
};

// Files that are one stream of the store: those in streams/, array.npy, and index/chunks.tsv.
class StreamsView : public ContainerView {
 public:
  using ContainerView::ContainerView;

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

ViewPointer make_static_view(const ContainerTree& tree) { return std::make_unique<StaticView>(tree); }

ViewPointer make_trailer_view(const ContainerTree& tree) {
  return tree.store().trailer() == nullptr ? nullptr : make_static_view(tree);
}

ViewPointer make_streams_view(const ContainerTree& tree) { return std::make_unique<StreamsView>(tree); }

ViewPointer make_array_view(const ContainerTree& tree) {
  return tree.store().traits().array ? make_streams_view(tree) : nullptr;
}

}  // namespace recordfs
