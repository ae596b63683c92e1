// What the pages of a report are made of, as HTML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/report/size_histogram.h"
#include "core/store/part_counts.h"
#include "core/verify/verification.h"

namespace recordfs {

// Escaping makes text up to six times as long, and a page must stay below 1 MiB.
inline constexpr std::size_t kLongestName = 100;  // bytes of a name in a table
inline constexpr std::size_t kLongestValue = 300;
inline constexpr std::size_t kMostShownFindings = 100;

// Escapes text, and cuts it if it is too long for a table. A cut character is shown as bytes.
std::string cell(std::string_view text, std::size_t longest);
// Escapes the path of a file, and cuts the front of a long one.
std::string path_cell(std::string_view path);
// The arguments of the next functions are HTML.
std::string section(std::string_view title, std::string_view content);
std::string paragraph(std::string_view text);
// Returns a number with its name, for a list of such.
std::string tile(std::string_view name, std::string_view value, std::string_view detail = {});

// Returns "1,234 records".
std::string records_text(std::uint64_t records);

// What findings add up to.
struct FindingSums {
  std::uint64_t damaged = 0;
  std::uint64_t unread = 0;  // for other reasons
  std::uint64_t records_lost = 0;
  bool is_lower_bound = false;  // some findings do not know how many records they cost

  void add(const Finding& finding);
  // Returns "Damaged: 2 regions, at least 7 records lost".
  std::string text() const;
};

// Each returns a section, or nothing if there is nothing to show.
//
// `files` has the file of each finding, or is empty if there is only one file. `all` is the number of findings, of
// which the first kMostShownFindings are shown.
std::string damage_section(std::span<const Finding> findings, std::span<const std::string> files, std::uint64_t all);
std::string sizes_section(const SizeHistogram& sizes);
// `are_keys`: the parts are changes of keys.
std::string parts_section(const PartCounts& parts, bool are_keys);

// All are HTML.
struct PageText {
  std::string_view title;
  std::string_view kind;  // above the heading
  std::string_view heading;
  std::string_view state;  // below the heading
  std::string_view body;
  std::string_view source;  // what the page was made from
  bool has_images = false;
};

// What all documents begin with.
inline constexpr std::string_view kPageBegin = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="recordfs report">
)";

// Returns a document that needs no other file, no script and no network.
std::string page_document(const PageText& text);

}  // namespace recordfs
