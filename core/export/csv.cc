#include "core/export/csv.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::uint32_t kDeepest = 64;  // nested types

template <class Number>
Number number_at(const ArrowColumn& column, std::size_t buffer, std::size_t row) {
  Number number;
  std::memcpy(&number, column.buffers[buffer].bytes.subspan(row * sizeof(Number), sizeof(Number)).data(),
              sizeof(Number));
  return number;
}

bool bit_at(const ArrowColumn& column, std::size_t buffer, std::size_t row) {
  const auto byte = std::to_integer<unsigned>(column.buffers[buffer].bytes[row / 8]);
  return ((byte >> (row % 8)) & 1u) != 0;
}

bool is_null(const ArrowColumn& column, std::size_t row) {
  return column.null_count != 0 && column.buffers[0].owner != nullptr && !bit_at(column, 0, row);
}

bool is_list(const ArrowField& field) { return field.format == "+L"; }
bool is_struct(const ArrowField& field) { return field.format == "+s"; }

// Returns the range of a text, or of the items of a list.
std::pair<std::size_t, std::size_t> range_at(const ArrowColumn& column, std::size_t row) {
  return {static_cast<std::size_t>(number_at<std::int64_t>(column, 1, row)),
          static_cast<std::size_t>(number_at<std::int64_t>(column, 1, row + 1))};
}

Bytes bytes_at(const ArrowColumn& column, std::size_t row) {
  const auto [begin, end] = range_at(column, row);
  return begin == end ? Bytes() : column.buffers[2].bytes.subspan(begin, end - begin);
}

// Passes a number of a column to `take`; returns false if the column has no numbers.
template <class Take>
bool take_number(const ArrowField& field, const ArrowColumn& column, std::size_t row, const Take& take) {
  if (field.format == "i") return take(std::int64_t{number_at<std::int32_t>(column, 1, row)}), true;
  if (field.format == "l") return take(number_at<std::int64_t>(column, 1, row)), true;
  if (field.format == "I") return take(std::uint64_t{number_at<std::uint32_t>(column, 1, row)}), true;
  if (field.format == "L") return take(number_at<std::uint64_t>(column, 1, row)), true;
  if (field.format == "f") return take(number_at<float>(column, 1, row)), true;
  if (field.format == "g") return take(number_at<double>(column, 1, row)), true;
  return false;
}

// Returns whether cells can have values of the type.
bool is_known(const ArrowField& field, std::uint32_t depth = 0) {
  if (depth > kDeepest) return false;
  if (is_list(field) || is_struct(field)) {
    return std::ranges::all_of(field.children, [&](const ArrowField& child) { return is_known(child, depth + 1); });
  }
  constexpr std::string_view kScalars = "bUZilILfg";
  return field.format.size() == 1 && kScalars.find(field.format) != std::string_view::npos;
}

// Returns bytes as text in their form.
std::string text_of(Bytes bytes, ByteForm form) {
  if (form == ByteForm::kAuto && is_utf8(as_text(bytes))) return std::string(as_text(bytes));
  std::string quoted;
  JsonWriter(quoted).encoded(bytes, form == ByteForm::kHex ? ByteForm::kHex : ByteForm::kBase64);
  return quoted.substr(1, quoted.size() - 2);
}

// How bytes are written.
struct BytesOfTable {
  ByteForm form = ByteForm::kAuto;
  MixedBytes* mixed = nullptr;
  std::map<const ArrowField*, std::string> names{};  // of fields of bytes

  // Adds the fields in one.
  void add_names(const ArrowField& parent, const std::string& path) {
    for (const ArrowField& child : parent.children) {
      const bool is_item = is_list(parent);
      const std::string name = is_item ? path : path.empty() ? child.name : path + "." + child.name;
      if (child.format == "Z") names.emplace(&child, name);
      add_names(child, name);
    }
  }
  // Returns a text, or bytes in their form.
  std::string text(const ArrowField& field, Bytes bytes) const {
    if (field.format == "U") return text_of(bytes, ByteForm::kAuto);
    if (form == ByteForm::kAuto && mixed != nullptr) mixed->note(names.at(&field), bytes);
    return text_of(bytes, form);
  }
};

void write_json(JsonWriter& json, const ArrowField& field, const ArrowColumn& column, std::size_t row,
                const BytesOfTable& bytes) {
  if (is_null(column, row)) return json.literal("null");
  if (is_list(field)) {
    const auto [begin, end] = range_at(column, row);
    json.begin_list();
    for (std::size_t i = begin; i < end; ++i) write_json(json, field.children[0], column.children[0], i, bytes);
    return json.end_list();
  }
  if (is_struct(field)) {
    json.begin_object();
    for (std::size_t i = 0; i < field.children.size(); ++i) {
      json.name(field.children[i].name);
      write_json(json, field.children[i], column.children[i], row, bytes);
    }
    return json.end_object();
  }
  if (field.format == "b") return json.literal(bit_at(column, 1, row) ? "true" : "false");
  const auto take = [&json](auto number) {
    if constexpr (std::is_floating_point_v<decltype(number)>) {
      if (!std::isfinite(number))
        return json.string(std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    }
    json.number(number);
  };
  if (take_number(field, column, row, take)) return;
  json.string(bytes.text(field, bytes_at(column, row)));
}

class TextRows final : public EncodedRows {};

// Rows of text, one after another.
class TextWriter : public TableWriter {
 public:
  TextWriter(ByteSink& sink, ArrowField root, const CsvOptions& options)
      : sink_(sink), root_(std::move(root)), mixed_(options.mixed), bytes_{options.bytes, options.mixed.get()} {
    bytes_.add_names(root_, {});
  }

  Result<std::unique_ptr<const EncodedRows>> encode(std::span<const ArrowColumn> batches) const override {
    auto encoded = std::make_unique<TextRows>();
    for (const ArrowColumn& batch : batches) {
      const auto rows = static_cast<std::size_t>(batch.length);
      encoded->rows += rows;
      for (std::size_t row = 0; row < rows; ++row) append_row(encoded->bytes, batch, row);
    }
    return std::unique_ptr<const EncodedRows>(std::move(encoded));
  }

  Result<void> append(const EncodedRows& encoded) override {
    TRY(write_header());
    return sink_.write(as_bytes(encoded.bytes));
  }
  Result<void> finish() override {
    if (mixed_ != nullptr) TRY(mixed_->check());
    return write_header();
  }

 protected:
  const ArrowField& root() const { return root_; }
  const BytesOfTable& bytes() const { return bytes_; }

 private:
  virtual std::string header() const = 0;
  virtual void append_row(std::string& out, const ArrowColumn& batch, std::size_t row) const = 0;

  Result<void> write_header() {
    if (std::exchange(has_header_, true)) return {};
    return sink_.write(as_bytes(header()));
  }

  ByteSink& sink_;
  const ArrowField root_;
  const std::shared_ptr<MixedBytes> mixed_;
  BytesOfTable bytes_;
  bool has_header_ = false;
};

class CsvWriter final : public TextWriter {
 public:
  CsvWriter(ByteSink& sink, const ArrowField& root, const CsvOptions& options)
      : TextWriter(sink, root, options), options_(options) {}

 private:
  std::string header() const override {
    std::string line;
    for (const ArrowField& field : root().children) {
      append_separator(line, &field != root().children.data());
      append_cell(line, field.name);
    }
    line += options_.line_end;
    return line;
  }

  void append_row(std::string& out, const ArrowColumn& batch, std::size_t row) const override {
    for (std::size_t i = 0; i < root().children.size(); ++i) {
      append_separator(out, i > 0);
      append_value(out, root().children[i], batch.children[i], row);
    }
    out += options_.line_end;
  }

  void append_separator(std::string& out, bool is_wanted) const {
    if (is_wanted) out += options_.separator;
  }

  // Appends a cell that is not null.
  void append_cell(std::string& out, std::string_view text) const {
    const bool is_quoted = text.empty() || text.find_first_of("\"\r\n") != std::string_view::npos ||
                           text.find(options_.separator) != std::string_view::npos;
    if (!is_quoted) {
      out += text;
      return;
    }
    out += '"';
    for (const char c : text) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  }

  void append_value(std::string& out, const ArrowField& field, const ArrowColumn& column, std::size_t row) const {
    if (is_null(column, row)) {
      if (root().children.size() == 1) append_cell(out, {});  // readers skip empty lines
      return;
    }
    if (field.format == "U" || field.format == "Z") {
      return append_cell(out, bytes().text(field, bytes_at(column, row)));
    }
    std::string json;
    JsonWriter writer(json);
    write_json(writer, field, column, row, bytes());
    const bool is_word = json.starts_with('"');  // NaN or an infinity
    append_cell(out, is_word ? std::string_view(json).substr(1, json.size() - 2) : std::string_view(json));
  }

  const CsvOptions options_;
};

class JsonLinesWriter final : public TextWriter {
 public:
  JsonLinesWriter(ByteSink& sink, const ArrowField& root, const CsvOptions& options)
      : TextWriter(sink, root, options) {}

 private:
  std::string header() const override { return {}; }

  void append_row(std::string& out, const ArrowColumn& batch, std::size_t row) const override {
    JsonWriter json(out);
    json.begin_object();
    for (std::size_t i = 0; i < root().children.size(); ++i) {
      if (is_null(batch.children[i], row)) continue;
      json.name(root().children[i].name);
      write_json(json, root().children[i], batch.children[i], row, bytes());
    }
    json.end_object();
    out += '\n';
  }
};

Result<void> check_types(const ArrowField& root) {
  if (is_struct(root) && is_known(root)) return {};
  return Error{.code = Code::kUnsupported, .detail = "a column of unknown type"};
}

}  // namespace

Result<std::unique_ptr<TableWriter>> open_csv(ByteSink& sink, const ArrowField& root, const CsvOptions& options) {
  TRY(check_types(root));
  return std::unique_ptr<TableWriter>(std::make_unique<CsvWriter>(sink, root, options));
}

Result<std::unique_ptr<TableWriter>> open_json_lines(ByteSink& sink, const ArrowField& root,
                                                     const CsvOptions& options) {
  TRY(check_types(root));
  return std::unique_ptr<TableWriter>(std::make_unique<JsonLinesWriter>(sink, root, options));
}

}  // namespace recordfs
