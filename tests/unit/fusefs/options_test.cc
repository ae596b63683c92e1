#include "fusefs/options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

using Texts = std::vector<std::string>;

ParsedOptions parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "recordfs");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), "recordfs 1.2.3");
}

Options good(const std::vector<const char*>& arguments) {
  auto result = parsed(arguments);
  EXPECT_TRUE(result.options) << result.output;
  EXPECT_EQ(result.status, 0);
  return std::move(result.options).value_or(Options{});
}

Options with(const char* list) { return good({"file", "mnt", "-o", list}); }

void expect_wrong(const std::vector<const char*>& arguments, std::string_view part) {
  const ParsedOptions result = parsed(arguments);
  EXPECT_FALSE(result.options);
  EXPECT_EQ(result.status, kExitWrongUse);
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << result.output;
  EXPECT_TRUE(result.output.ends_with('\n'));
  EXPECT_TRUE(result.output.starts_with("recordfs: ")) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
}

TEST(Options, SourcesAndMountPoint) {
  const Options one = good({"file", "mnt"});
  EXPECT_EQ(one.sources, Texts{"file"});
  EXPECT_EQ(one.mountpoint, "mnt");
  EXPECT_EQ(good({"a", "b", "c", "mnt"}).sources, (Texts{"a", "b", "c"}));
  EXPECT_EQ(good({"--", "-a", "mnt"}).sources, Texts{"-a"});
}

TEST(Options, DefaultsAreThoseOfTheManual) {
  const Options options = good({"file", "mnt"});
  EXPECT_FALSE(options.foreground || options.debug || options.single_threaded || options.allow_other || options.nest ||
               options.nonempty);
  EXPECT_EQ(options.cache_size, 64u << 20);
  EXPECT_EQ(options.threads, 8u);
  EXPECT_FALSE(options.uid || options.gid || options.umask || options.fsname);
}

TEST(Options, FlagsMayStandAnywhere) {
  const Options options = good({"-f", "file", "-s", "mnt", "-o", "nest"});
  EXPECT_TRUE(options.foreground && options.single_threaded && options.nest);
  EXPECT_TRUE(good({"file", "mnt", "-d"}).foreground);
  EXPECT_TRUE(good({"file", "mnt", "--debug"}).debug);
  EXPECT_TRUE(good({"file", "mnt", "-odebug"}).debug);
}

TEST(Options, EachMountOptionIsUnderstood) {
  const Options options =
      with("allow_other,uid=12,gid=34,umask=027,cache_size=2M,threads=3,nest,nonempty,follow,fsname=name,max_chunk=2G");
  EXPECT_TRUE(options.allow_other && options.nest && options.nonempty && options.follow);
  EXPECT_EQ(options.uid, 12u);
  EXPECT_EQ(options.gid, 34u);
  EXPECT_EQ(options.umask, 027u);
  EXPECT_EQ(options.cache_size, 2u << 20);
  EXPECT_EQ(options.limits.stored_chunk, 2ull << 30);
  EXPECT_EQ(options.limits.decoded_chunk, 2ull << 30);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.fsname, "name");
}

TEST(Options, SeveralListsAddUp) {
  const Options options = good({"-o", "nest", "file", "mnt", "-o", "uid=1,,nonempty", "-ouid=2"});
  EXPECT_TRUE(options.nest && options.nonempty);
  EXPECT_EQ(options.uid, 2u);
}

TEST(Options, WhatMountAndFstabAddChangesNothing) {
  const Options options =
      with("ro,rw,nosuid,nodev,noexec,noatime,_netdev,nofail,x-systemd.automount,X-thing=1,comment=a,subtype=recordfs");
  EXPECT_TRUE(options.passed_on.empty());
  EXPECT_EQ(good({"-t", "recordfs", "file", "mnt"}).sources, Texts{"file"});
}

TEST(Options, SomeArePassedOn) {
  EXPECT_EQ(with("auto_unmount,allow_root").passed_on, (Texts{"auto_unmount", "allow_root"}));
}

TEST(Options, MaxReadIsANumber) {
  EXPECT_EQ(with("max_read=4096").max_read, 4096u);
  EXPECT_TRUE(with("max_read=4096").passed_on.empty());
}

TEST(Options, IndexIsAWordOrADirectory) {
  EXPECT_EQ(good({"file", "mnt"}).index, "auto");
  EXPECT_EQ(with("index=no").index, "no");
  EXPECT_EQ(with("index=/some/where").index, "/some/where");
  expect_wrong({"file", "mnt", "-o", "index="}, "index=");
  expect_wrong({"file", "mnt", "-o", "index"}, "index");
}

TEST(Options, BackslashTakesACommaIntoAValue) {
  EXPECT_EQ(with("fsname=a\\,b\\\\c,nest").fsname, "a,b\\c");
  EXPECT_TRUE(with("fsname=a\\,b,nest").nest);
  EXPECT_EQ(with("fsname=a=b").fsname, "a=b");
  EXPECT_EQ(with("fsname=end\\").fsname, "end\\");
  EXPECT_EQ(with("fsname=").fsname, std::nullopt);
  EXPECT_EQ(with("fsname=[a\\,b]").fsname, "[a,b]");
}

TEST(Options, WrongOnesAreRefusedInOneLine) {
  expect_wrong({}, "no source");
  expect_wrong({"file"}, "no mount point");
  expect_wrong({"-z", "file", "mnt"}, "-z");
  expect_wrong({"file", "mnt", "-o"}, "-o");
  expect_wrong({"file", "mnt", "-o", "nonsense"}, "unknown option -o nonsense");
  expect_wrong({"file", "mnt", "-o", "nonsense=1"}, "unknown option -o nonsense");
  expect_wrong({"file", "mnt", "-o", "allow_other=1"}, "allow_other");
  expect_wrong({"file", "mnt", "-o", "uid"}, "uid");
}

TEST(Options, ValuesThatCannotBeAreRefused) {
  for (const char* item : {"uid=",          "uid=x",          "uid=-1",        "uid=4294967296", "uid=4294967295",
                           "gid=1.5",       "umask=8",        "umask=0x1",     "umask=1000",     "max_read=many",
                           "threads=0",     "threads=1025",   "threads=-1",    "cache_size=",    "cache_size=M",
                           "cache_size=1X", "cache_size=1MB", "cache_size=-1", "max_chunk=0",    "max_chunk=x"}) {
    expect_wrong({"file", "mnt", "-o", item}, item);
  }
}

TEST(Options, HelpAndVersionAreNoFailure) {
  for (const char* flag : {"-h", "--help"}) {
    const ParsedOptions help = parsed({flag});
    EXPECT_FALSE(help.options);
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.output.find("cache_size=SIZE"), std::string::npos);
  }
  for (const char* flag : {"-V", "--version"}) {
    const ParsedOptions version = parsed({flag});
    EXPECT_EQ(version.status, 0);
    EXPECT_NE(version.output.find("recordfs 1.2.3"), std::string::npos);
  }
}

TEST(Sizes, AreNumbersWithAnOptionalUnit) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("17"), 17u);
  EXPECT_EQ(parse_size("1k"), 1024u);
  EXPECT_EQ(parse_size("64M"), 64u << 20);
  EXPECT_EQ(parse_size("2G"), 2ull << 30);
  EXPECT_EQ(parse_size("1T"), 1ull << 40);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_size("16777215T"), 16777215ull << 40);
}

TEST(Sizes, AnythingElseIsNone) {
  for (const char* text : {"", "M", "1MM", "1 M", " 1", "-1", "+1", "1.5M", "0x10", "1X", "1\xff",
                           "18446744073709551616", "16777216T", "18014398509481984K"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace recordfs
