#include "core/columns/parquet_column.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/append.h"
#include "core/codec/compress.h"
#include "core/columns/thrift_writer.h"
#include "core/hash/crc32.h"

namespace recordfs {
namespace {

constexpr std::size_t kPageSize = 1u << 20;        // of values; rows are not divided
constexpr std::size_t kMostDictionary = 1u << 20;  // bytes
constexpr std::size_t kTried = 8192;               // values after which most must have occurred before
constexpr std::size_t kLongestBound = 64;          // of statistics, in bytes

// The numbers of the enumerations PageType and Encoding.
enum class PageType : std::uint8_t { kData = 0, kDictionary = 2 };
enum class Encoding : std::uint8_t { kPlain = 0, kRle = 3, kRleDictionary = 8 };

std::size_t width_of(const std::string& format) {
  switch (format.front()) {
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    case 'b': return 1;
    default: return 0;
  }
}

// The values of a leaf in one batch, where Arrow has them. A bool is a byte.
class LeafValues {
 public:
  // The arguments must outlive the object.
  LeafValues(const LeafLevels& levels, const std::string& format)
      : levels_(levels),
        bytes_(as_text(levels.column->buffers.back().bytes).data()),
        width_(width_of(format)),
        is_bool_(format == "b") {}

  std::size_t size() const { return levels_.values.size(); }

  std::string_view operator[](std::size_t index) const {
    static constexpr std::string_view kBools("\0\1", 2);
    const auto at = static_cast<std::size_t>(levels_.values[index]);
    if (is_bool_) return kBools.substr(static_cast<unsigned char>(bytes_[at / 8]) >> at % 8 & 1u, 1);
    if (width_ != 0) return {bytes_ + at * width_, width_};
    std::int64_t ends[2];
    std::memcpy(ends, levels_.column->buffers[1].bytes.data() + at * 8, sizeof ends);
    return {bytes_ + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
  }

  // Returns the numbers [begin, end) if they are back to back; otherwise nothing.
  std::string_view consecutive(std::size_t begin, std::size_t end) const {
    if (width_ == 0 || is_bool_ || begin == end) return {};
    const auto first = static_cast<std::size_t>(levels_.values[begin]);
    const auto last = static_cast<std::size_t>(levels_.values[end - 1]);
    if (last - first != end - 1 - begin) return {};
    return {bytes_ + first * width_, (end - begin) * width_};
  }

 private:
  const LeafLevels& levels_;
  const char* const bytes_;
  const std::size_t width_;
  const bool is_bool_;
};

// Appends a value as PLAIN has it. `width`: of a number; 0 for text.
void append_plain(std::string& out, std::string_view value, std::size_t width) {
  if (width == 0) append_le(out, static_cast<std::uint32_t>(value.size()));
  append_numbers_le(out, value, width);
}

// The least and the greatest value, in the order that the type defines.
class Bounds {
 public:
  explicit Bounds(const std::string& format) : format_(format) {}

  // Values: LeafValues, or a vector.
  template <class Values>
  void add(const Values& values) {
    switch (format_.front()) {
      case 'i': return add_numbers<std::int32_t>(values);
      case 'I': return add_numbers<std::uint32_t>(values);
      case 'l': return add_numbers<std::int64_t>(values);
      case 'L': return add_numbers<std::uint64_t>(values);
      case 'f': return add_numbers<float>(values);
      case 'g': return add_numbers<double>(values);
      default: return add_texts(values);
    }
  }

  void copy_to(ParquetColumnChunk& chunk) const {
    if (!has_values_ || has_nan_ || std::max(least_.size(), greatest_.size()) > kLongestBound) return;
    chunk.least = with_sign(least_, true);
    chunk.greatest = with_sign(greatest_, false);
  }

 private:
  template <class Number>
  static Number number_of(std::string_view value) {
    Number number{};
    std::memcpy(&number, value.data(), sizeof number);
    return number;
  }

  template <class Number, class Values>
  void add_numbers(const Values& values) {
    if (values.size() == 0) return;
    auto least = number_of<Number>(has_values_ ? least_ : values[0]);
    auto greatest = number_of<Number>(has_values_ ? greatest_ : values[0]);
    if (!has_values_) least_ = greatest_ = values[0];
    has_values_ = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto number = number_of<Number>(values[i]);
      if constexpr (std::is_floating_point_v<Number>) has_nan_ = has_nan_ || std::isnan(number);
      if (number < least) {
        least = number;
        least_ = values[i];
      }
      if (number > greatest) {
        greatest = number;
        greatest_ = values[i];
      }
    }
  }

  // Compares as unsigned bytes; bool has one.
  template <class Values>
  void add_texts(const Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string_view value = values[i];
      if (!has_values_ || value < least_) least_ = value;
      if (!has_values_ || value > greatest_) greatest_ = value;
      has_values_ = true;
    }
  }

  // Zeros have both signs, of which the least has a minus and the greatest has none.
  std::string with_sign(std::string_view value, bool is_least) const {
    const bool is_zero = format_ == "f"   ? number_of<float>(value) == 0
                         : format_ == "g" ? number_of<double>(value) == 0
                                          : false;
    std::string bound;
    append_numbers_le(bound, value, width_of(format_));
    if (is_zero) bound.back() = static_cast<char>(is_least ? 0x80 : 0);
    return bound;
  }

  const std::string& format_;
  bool has_values_ = false;
  bool has_nan_ = false;
  std::string_view least_;
  std::string_view greatest_;
};

// The levels of a batch, with its values as numbers in the dictionary.
struct IndexedBatch {
  LeafLevels levels;
  std::vector<std::uint32_t> indices{};
};

class ColumnWriter {
 public:
  ColumnWriter(std::string& out, const ParquetLeaf& leaf, const ParquetCodec& codec)
      : out_(out), leaf_(leaf), codec_(codec), bounds_(leaf.format), width_(width_of(leaf.format)) {
    chunk_.begin = out.size();
  }

  Result<ParquetColumnChunk> write(std::span<const ArrowColumn> batches) {
    if (leaf_.format != "b" && make_dictionary(batches)) {
      TRY(write_dictionary());
      for (const IndexedBatch& batch : indexed_) TRY(write_pages(batch.levels, batch.indices));
    } else {
      indexed_.clear();
      for (const ArrowColumn& batch : batches) {
        const LeafLevels levels = levels_of(leaf_, batch);
        bounds_.add(LeafValues(levels, leaf_.format));
        TRY(write_pages(levels, {}));
      }
    }
    bounds_.copy_to(chunk_);
    chunk_.size = out_.size() - chunk_.begin;
    return std::move(chunk_);
  }

 private:
  bool has_dictionary() const { return chunk_.dictionary_end.has_value(); }
  std::size_t plain_size(std::string_view value) const { return value.size() + (width_ == 0 ? 4 : 0); }

  // Returns whether the column is smaller with a dictionary, which it makes.
  bool make_dictionary(std::span<const ArrowColumn> batches) {
    std::unordered_map<std::string_view, std::uint32_t> known;
    std::size_t dictionary_size = 0;
    std::size_t all_size = 0;
    std::size_t count = 0;
    for (const ArrowColumn& batch : batches) {
      IndexedBatch& indexed = indexed_.emplace_back(IndexedBatch{.levels = levels_of(leaf_, batch)});
      const LeafValues values(indexed.levels, leaf_.format);
      indexed.indices.reserve(std::min(values.size(), kTried));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string_view value = values[i];
        const auto [at, is_new] = known.try_emplace(value, static_cast<std::uint32_t>(known.size()));
        all_size += plain_size(value);
        indexed.indices.push_back(at->second);
        ++count;
        if (!is_new) continue;
        dictionary_.push_back(value);
        dictionary_size += plain_size(value);
        if (dictionary_size > kMostDictionary || (count > kTried && 2 * dictionary_.size() > count)) return false;
      }
      std::vector<std::int64_t>().swap(indexed.levels.values);
    }
    return dictionary_size + count * bits_for_indices() / 8 < all_size;
  }

  unsigned bits_for_indices() const {
    return dictionary_.empty() ? 0 : bits_for(static_cast<std::uint32_t>(dictionary_.size() - 1));
  }

  Result<void> write_dictionary() {
    bounds_.add(dictionary_);
    std::string content;
    for (const std::string_view value : dictionary_) append_plain(content, value, width_);
    TRY(write_page(PageType::kDictionary, std::move(content), dictionary_.size()));
    chunk_.dictionary_end = out_.size();
    return {};
  }

  // Writes the pages of a batch, with the indices of its values if there is a dictionary.
  Result<void> write_pages(const LeafLevels& levels, std::span<const std::uint32_t> indices) {
    const LeafValues values(levels, leaf_.format);
    const std::size_t count = levels.definition.size();
    for (std::size_t at = 0, value = 0; at < count;) {
      const std::size_t begin = at;
      const std::size_t first_value = value;
      std::size_t size = 0;
      do {
        if (levels.definition[at] == leaf_.most_definition) {
          size += plain_size(has_dictionary() ? dictionary_[indices[value]] : values[value]);
          ++value;
        }
        ++at;
        ++size;
      } while (at < count && (size < kPageSize || levels.repetition[at] != 0));
      std::string content;
      append_levels_between(content, levels, begin, at);
      if (has_dictionary()) {
        content.push_back(static_cast<char>(bits_for_indices()));
        append_hybrid(content, indices.subspan(first_value, value - first_value), bits_for_indices());
      } else {
        append_values(content, values, first_value, value);
      }
      TRY(write_page(PageType::kData, std::move(content), at - begin));
      chunk_.levels += static_cast<std::int64_t>(at - begin);
      chunk_.nulls += static_cast<std::int64_t>((at - begin) - (value - first_value));
    }
    return {};
  }

  void append_levels_between(std::string& content, const LeafLevels& levels, std::size_t begin, std::size_t end) const {
    const auto append = [&](const std::vector<std::uint8_t>& all, std::uint8_t most) {
      if (most > 0) append_levels(content, std::span(all).subspan(begin, end - begin), bits_for(most));
    };
    append(levels.repetition, leaf_.most_repetition);
    append(levels.definition, leaf_.most_definition);
  }

  void append_values(std::string& content, const LeafValues& values, std::size_t begin, std::size_t end) const {
    if (leaf_.format == "b") {
      for (std::size_t i = begin; i < end; ++i) {
        if ((i - begin) % 8 == 0) content.push_back('\0');
        content.back() = static_cast<char>(content.back() | values[i].front() << (i - begin) % 8);
      }
      return;
    }
    if (const auto all = values.consecutive(begin, end); !all.empty()) {
      append_numbers_le(content, all, width_);
      return;
    }
    for (std::size_t i = begin; i < end; ++i) append_plain(content, values[i], width_);
  }

  Result<void> write_page(PageType type, std::string content, std::size_t count) {
    std::string stored;
    TRY(compress(codec_.id, codec_.level, as_bytes(content), stored));
    if (std::max(content.size(), stored.size()) > INT32_MAX || count > INT32_MAX) {
      return Error{.code = Code::kLimit, .detail = "a row is too large for a page of Parquet"};
    }
    const std::size_t begin = out_.size();
    ThriftWriter header(out_);
    header.i32(1, static_cast<std::int32_t>(type));
    header.i32(2, static_cast<std::int32_t>(content.size()));
    header.i32(3, static_cast<std::int32_t>(stored.size()));
    header.i32(4, static_cast<std::int32_t>(crc32(as_bytes(stored))));
    header.begin_struct(type == PageType::kData ? 5 : 7);
    header.i32(1, static_cast<std::int32_t>(count));
    const bool has_indices = type == PageType::kData && has_dictionary();
    header.i32(2, static_cast<std::int32_t>(has_indices ? Encoding::kRleDictionary : Encoding::kPlain));
    if (type == PageType::kData) {
      header.i32(3, static_cast<std::int32_t>(Encoding::kRle));
      header.i32(4, static_cast<std::int32_t>(Encoding::kRle));
    }
    header.end_struct();
    header.end_struct();
    chunk_.uncompressed_size += out_.size() - begin + content.size();
    std::string().swap(content);  // may be as large as a record
    out_ += stored;
    return {};
  }

  std::string& out_;
  const ParquetLeaf& leaf_;
  const ParquetCodec& codec_;
  Bounds bounds_;
  const std::size_t width_;  // of the numbers; 0 for text
  std::vector<std::string_view> dictionary_;
  std::vector<IndexedBatch> indexed_;
  ParquetColumnChunk chunk_;
};

}  // namespace

Result<ParquetColumnChunk> append_column_chunk(std::string& out, const ParquetLeaf& leaf,
                                               std::span<const ArrowColumn> batches, const ParquetCodec& codec) {
  return ColumnWriter(out, leaf, codec).write(batches);
}

}  // namespace recordfs
