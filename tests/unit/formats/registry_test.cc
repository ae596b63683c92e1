#include "core/formats/registry.h"

#include <array>

#include <gtest/gtest.h>

#include "tests/toy/toy_format.h"

namespace recordfs {
namespace {

// Bids by the file's first byte: 'w' for weak, 's' for strong, 'b' for beyond doubt, 'e' for an error.
Result<int> probe_letter(const RequestContext& context, const Source& source, char letter, int bid) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, 1));
  if (as_text(head.view()) == "e") return Error{.code = Code::kIo, .detail = "bad sector", .os_error = 5};
  return as_text(head.view()) == std::string_view(&letter, 1) ? bid : 0;
}

Result<int> probe_weak(const RequestContext& context, const Source& source, std::string_view, ProbeDepth) {
  auto strong = probe_letter(context, source, 's', 8);
  if (!strong || *strong > 0) return strong;
  return probe_letter(context, source, 'w', 8);
}

Result<int> probe_strong(const RequestContext& context, const Source& source, std::string_view, ProbeDepth) {
  auto sure = probe_letter(context, source, 'b', kBeyondDoubt);
  if (!sure || *sure > 0) return sure;
  return probe_letter(context, source, 's', 32);
}

// Recognizes a file only with ProbeDepth::kSearch, as formats do after a damaged head.
Result<int> probe_deep(const RequestContext& context, const Source& source, std::string_view, ProbeDepth depth) {
  if (depth == ProbeDepth::kHead) return 0;
  ASSIGN_OR_RETURN(const auto all, read_up_to(context, source, 0, 100));
  return as_text(all.view()).find("deep") == std::string_view::npos ? 0 : 64;
}

Result<int> probe_same(const RequestContext& context, const Source& source, std::string_view, ProbeDepth) {
  auto sure = probe_letter(context, source, 'b', kBeyondDoubt + 1);
  if (!sure || *sure > 0) return sure;
  return probe_letter(context, source, 's', 32);
}

Result<std::unique_ptr<Container>> open_none(const RequestContext&, std::shared_ptr<const Source>, const Limits&) {
  return Error{.code = Code::kNoContainer, .detail = "opened as it should not be"};
}

std::string_view probed(std::string_view bytes, ProbeDepth depth = ProbeDepth::kSearch) {
  auto format = probe({}, *toy::source_of(bytes), "name", depth);
  return format ? (*format)->name : "refused";
}

TEST(Registry, HighestBidWins) { EXPECT_EQ(probed("s"), "strong"); }

TEST(Registry, FirstInTheListWinsAmongEqualBids) {
  EXPECT_EQ(probed("s"), "strong");
  EXPECT_EQ(formats()[3].probe({}, *toy::source_of("s"), "name", ProbeDepth::kHead).value(), 32);
}

TEST(Registry, CertainBidSkipsTheRemainingFormats) {
  EXPECT_EQ(probed("b"), "strong");
  EXPECT_GT(formats()[3].probe({}, *toy::source_of("b"), "name", ProbeDepth::kHead).value(), kBeyondDoubt);
}

TEST(Registry, MatchingHeadWinsOverASearchResult) { EXPECT_EQ(probed("w and deep"), "weak"); }

TEST(Registry, SearchRunsOnlyIfNoFormatRecognizesTheHead) {
  EXPECT_EQ(probed("xx deep"), "deep");
  EXPECT_EQ(probed("xx deep", ProbeDepth::kHead), "refused");
}

TEST(Registry, RefusalListsTheFormats) {
  const auto refused = open_container({}, toy::source_of("nothing known"), "name", Limits{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNoContainer);
  EXPECT_EQ(refused.error().detail, "not a record container (known formats: weak, strong, deep, same, toy)");
}

TEST(Registry, RefusalOfADamagedFileHasTheFormatOfItsName) {
  const auto refused = open_container({}, toy::source_of("nothing known"), "it.strong-00000-of-00002.gz", Limits{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail,
            "not a record container, or too damaged to be recognized as strong, which its name suggests");
}

TEST(Registry, ErrorOfTheSourceIsNotARefusal) {
  const auto failed = probe({}, *toy::source_of("e"), "name", ProbeDepth::kHead);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kIo);
}

TEST(Registry, OpensByContentNotByName) {
  const toy::File file = toy::make_file({});
  EXPECT_EQ(open_container({}, toy::source_of(file.bytes), "misnamed.txt", Limits{}).value()->traits().format, "toy");
}

TEST(Registry, NameDecidesAboutAnEmptyFile) {
  EXPECT_EQ(open_container({}, toy::source_of(""), "empty.toy", Limits{}).value()->traits().format, "toy");
  EXPECT_EQ(open_container({}, toy::source_of(""), "empty.txt", Limits{}).error().code, Code::kNoContainer);
}

}  // namespace

std::span<const Format> formats() {
  static const std::array list{
      Format{"weak", probe_weak, open_none},
      Format{.name = "strong", .probe = probe_strong, .open = open_none, .suffixes = ".s .strong"},
      Format{"deep", probe_deep, open_none},
      Format{"same", probe_same, open_none},
      Format{"toy", toy::kFormat.probe, toy::kFormat.open},
  };
  return list;
}

}  // namespace recordfs
