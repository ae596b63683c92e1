#include "fusefs/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

using Texts = std::vector<std::string>;

using Words = std::vector<const char*>;

constexpr std::array kCommands = {HelpLine{"first", "does one thing"}, HelpLine{"second", "does another"}};

ParsedOptions parsed(Words arguments, Form form = Form::kProgram) {
  arguments.insert(arguments.begin(), "recordfs");
  return parse_options(form, static_cast<int>(arguments.size()), arguments.data(),
                       {.help = [form] { return help_text(form, kCommands); },
                        .version = [] { return "recordfs 1.2.3\n"; },
                        .version_json = [] { return "{}\n"; }});
}

Options good(const Words& arguments, Form form = Form::kProgram) {
  auto result = parsed(arguments, form);
  EXPECT_TRUE(result.options) << result.output;
  EXPECT_EQ(result.status, 0);
  return std::move(result.options).value_or(Options{});
}

Options with(const char* list) { return good({"file", "mnt", "-o", list}); }

void expect_wrong(const Words& arguments, std::string_view part, Form form = Form::kProgram) {
  const ParsedOptions result = parsed(arguments, form);
  EXPECT_FALSE(result.options);
  EXPECT_EQ(result.status, kExitWrongUse);
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << result.output;
  EXPECT_TRUE(result.output.ends_with('\n'));
  EXPECT_TRUE(result.output.starts_with("recordfs: ")) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
}

TEST(Options, SourcesAndMountPointAreParsed) {
  const Options one = good({"file", "mnt"});
  EXPECT_EQ(one.sources, Texts{"file"});
  EXPECT_EQ(one.mountpoint, "mnt");
  EXPECT_EQ(good({"a", "b", "c", "mnt"}).sources, (Texts{"a", "b", "c"}));
  EXPECT_EQ(good({"--", "-a", "mnt"}).sources, Texts{"-a"});
}

TEST(Options, DefaultsMatchTheHelp) {
  const Options options = good({"file", "mnt"});
  EXPECT_FALSE(options.foreground || options.debug || options.single_threaded || options.allow_other || options.nest ||
               options.nonempty);
  EXPECT_FALSE(options.uid || options.gid || options.umask || options.fsname);
  const std::string text = help_text(Form::kProgram, {});
  const Limits& limits = options.limits;
  for (const std::string& stated :
       {fmt::format("decoded chunks (default {}M)", options.cache_size >> 20),
        fmt::format("(default {}M stored, {}G decoded)", limits.stored_chunk >> 20, limits.decoded_chunk >> 30),
        fmt::format("answer requests (default {})", options.threads),
        fmt::format("(default {}: never)", options.timeout),
        fmt::format("{} (default: ~/.cache/recordfs)", options.index)}) {
    EXPECT_NE(text.find(stated), std::string::npos) << stated;
  }
}

TEST(Options, FlagsMayBeAnywhere) {
  const Options options = good({"-f", "file", "-s", "mnt", "-o", "nest"});
  EXPECT_TRUE(options.foreground && options.single_threaded && options.nest);
  EXPECT_TRUE(good({"file", "mnt", "-d"}).foreground);
  EXPECT_TRUE(good({"file", "mnt", "--debug"}).debug);
  EXPECT_TRUE(good({"file", "mnt", "-odebug"}).debug);
}

TEST(Options, EachMountOptionIsParsed) {
  const Options options =
      with("allow_other,uid=12,gid=34,umask=027,cache_size=2M,threads=3,nest,nonempty,follow,fsname=name,max_chunk=2G");
  EXPECT_TRUE(options.allow_other && options.nest && options.nonempty && options.follow);
  EXPECT_EQ(options.uid, 12u);
  EXPECT_EQ(options.gid, 34u);
  EXPECT_EQ(options.umask, 027u);
  EXPECT_EQ(options.cache_size, 2u << 20);
  EXPECT_EQ(options.limits.stored_chunk, 2ull << 30);
  EXPECT_EQ(options.limits.decoded_chunk, 2ull << 30);
  EXPECT_EQ(options.limits.records_per_chunk, 32ull << 20);
  EXPECT_EQ(options.limits.metadata_bytes, 128ull << 20);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.fsname, "name");
}

TEST(Options, SmallChunkLimitKeepsTheRecordLimit) {
  const Limits limits = with("max_chunk=1M").limits;
  EXPECT_EQ(limits.decoded_chunk, 1u << 20);
  EXPECT_EQ(limits.records_per_chunk, Limits{}.records_per_chunk);
  EXPECT_EQ(limits.metadata_bytes, Limits{}.metadata_bytes);
  EXPECT_GT(with("max_chunk=8000000T").limits.records_per_chunk, Limits{}.records_per_chunk);
}

TEST(Options, SeveralOptionListsAreMerged) {
  const Options options = good({"-o", "nest", "file", "mnt", "-o", "uid=1,,nonempty", "-ouid=2"});
  EXPECT_TRUE(options.nest && options.nonempty);
  EXPECT_EQ(options.uid, 2u);
}

TEST(Options, OptionsAddedByMountAndFstabAreIgnored) {
  const Options options =
      with("ro,rw,nosuid,nodev,noexec,noatime,_netdev,nofail,x-systemd.automount,X-thing=1,comment=a,subtype=recordfs");
  EXPECT_TRUE(options.passed_on.empty());
  EXPECT_EQ(good({"-t", "recordfs", "file", "mnt"}).sources, Texts{"file"});
  EXPECT_EQ(with("user=somebody,uhelper=udisks2,_rnetdev,x-systemd.requires=a\\,b").sources, Texts{"file"});
}

TEST(Options, LibfuseOptionsArePassedOn) {
  EXPECT_TRUE(with("auto_unmount").auto_unmount);
  EXPECT_EQ(with("auto_unmount,allow_root").passed_on, (Texts{"auto_unmount", "allow_root"}));
}

TEST(Options, MaxReadIsANumber) {
  EXPECT_EQ(with("max_read=4096").max_read, 4096u);
  EXPECT_TRUE(with("max_read=4096").passed_on.empty());
}

TEST(Options, IndexIsAKeywordOrADirectory) {
  EXPECT_EQ(good({"file", "mnt"}).index, "auto");
  EXPECT_EQ(with("index=no").index, "no");
  EXPECT_EQ(with("index=/some/where").index, "/some/where");
  expect_wrong({"file", "mnt", "-o", "index="}, "index=");
  expect_wrong({"file", "mnt", "-o", "index"}, "index");
}

TEST(Options, BackslashEscapesACommaInAValue) {
  EXPECT_EQ(with("fsname=a\\,b\\\\c,nest").fsname, "a,b\\c");
  EXPECT_TRUE(with("fsname=a\\,b,nest").nest);
  EXPECT_EQ(with("fsname=a=b").fsname, "a=b");
  EXPECT_EQ(with("fsname=end\\").fsname, "end\\");
  EXPECT_EQ(with("fsname=").fsname, std::nullopt);
  EXPECT_EQ(with("fsname=[a\\,b]").fsname, "[a,b]");
}

TEST(Options, RecordOptionsAreParsed) {
  EXPECT_TRUE(with("xattr").xattr);
  EXPECT_TRUE(with("redact").redact);
  EXPECT_EQ(with("record_suffix=.pb").record_suffix, ".pb");
  EXPECT_EQ(with("record_suffix=_\\,9").record_suffix, "_,9");
  EXPECT_EQ(good({"file", "mnt"}).record_suffix, "");
  EXPECT_EQ(with("descriptors=/a/b.pb,type=pkg.Name").descriptors, "/a/b.pb");
  EXPECT_EQ(with("log=/a/b.log").log_file, "/a/b.log");
  EXPECT_EQ(with("descriptors=/a/b.pb,type=pkg.Name").type, "pkg.Name");
}

TEST(Options, EndOfMountOptionsAreParsed) {
  EXPECT_EQ(good({"file", "mnt"}).timeout, 0u);
  EXPECT_EQ(with("timeout=60").timeout, 60u);
  EXPECT_EQ(with("timeout=0").timeout, 0u);
  expect_wrong({"file", "/dev/fd/5", "-o", "timeout=5"}, "timeout");
}

TEST(Options, JoinIsAnOptionAndAFlag) {
  EXPECT_FALSE(good({"file", "mnt"}).join);
  EXPECT_TRUE(with("join").join);
  const Options options = good({"--join", "a", "b", "mnt"});
  EXPECT_TRUE(options.join);
  EXPECT_EQ(options.sources, (Texts{"a", "b"}));
  EXPECT_TRUE(good({"a@4", "--join"}, Form::kCommand).join);
  EXPECT_TRUE(with("join,follow").follow);
  expect_wrong({"--join", "file", "mnt", "-o", "nest"}, "-o join and -o nest");
}

TEST(Options, LogOptionsAreParsed) {
  EXPECT_EQ(good({"file", "mnt"}).verbosity, Verbosity::kUsual);
  EXPECT_EQ(good({"-q", "file", "mnt"}).verbosity, Verbosity::kErrors);
  EXPECT_EQ(good({"-v", "file", "mnt"}).verbosity, Verbosity::kDetails);
  EXPECT_EQ(good({"--verbose", "file", "mnt"}).verbosity, Verbosity::kDetails);
  expect_wrong({"-q", "-v", "file", "mnt"}, "-q and -v");
}

TEST(Options, ReadyDescriptorIsParsed) {
  EXPECT_EQ(good({"file", "mnt"}).ready_fd, std::nullopt);
  EXPECT_EQ(good({"--ready-fd", "5", "file", "mnt"}).ready_fd, 5);
  EXPECT_EQ(good({"--ready-fd=0", "file", "mnt"}).ready_fd, 0);
  for (const char* number : {"--ready-fd=-1", "--ready-fd=x", "--ready-fd=", "--ready-fd=4294967296"}) {
    expect_wrong({number, "file", "mnt"}, "ready-fd");
  }
}

TEST(Options, AllowRootDoesNotImplyAllowOther) {
  EXPECT_TRUE(with("allow_root").allow_root);
  EXPECT_FALSE(with("allow_root").allow_other);
}

TEST(MountCommand, MountPointIsOptional) {
  const Options one = good({"file"}, Form::kCommand);
  EXPECT_EQ(one.sources, Texts{"file"});
  EXPECT_EQ(one.mountpoint, "");
  const Options several = good({"a", "b", "mnt"}, Form::kCommand);
  EXPECT_EQ(several.sources, (Texts{"a", "b"}));
  EXPECT_EQ(several.mountpoint, "mnt");
  EXPECT_TRUE(good({"-f", "file", "-o", "nest"}, Form::kCommand).nest);
  expect_wrong({}, "no source", Form::kCommand);
}

TEST(Mount8, LettersHaveTheMeaningOfMount) {
  const Options options =
      good({"file", "mnt", "-sfnv", "-N", "12", "-o", "rw,nest", "-t", "fuse.recordfs"}, Form::kMount8);
  EXPECT_TRUE(options.sloppy && options.fake && options.nest);
  EXPECT_FALSE(options.foreground || options.single_threaded);
  EXPECT_EQ(options.verbosity, Verbosity::kDetails);
  EXPECT_EQ(options.mount_namespace, "12");
  EXPECT_EQ(options.mountpoint, "mnt");
}

TEST(Mount8, SloppyIgnoresUnknownOptions) {
  EXPECT_TRUE(good({"file", "mnt", "-s", "-o", "frobnicate,nest,frobnicate=1"}, Form::kMount8).nest);
  expect_wrong({"file", "mnt", "-o", "frobnicate"}, "frobnicate", Form::kMount8);
  expect_wrong({"file", "mnt", "-s", "-o", "uid=x"}, "uid=x", Form::kMount8);
}

TEST(Mount8, SourceAndMountPointAreRequiredAndOtherFlagsRefused) {
  expect_wrong({"file"}, "no mount point", Form::kMount8);
  expect_wrong({}, "no source", Form::kMount8);
  expect_wrong({"file", "mnt", "-d"}, "-d", Form::kMount8);
  expect_wrong({"file", "mnt", "--ready-fd=3"}, "--ready-fd", Form::kMount8);
}

TEST(Options, InvalidOptionsAreRefusedWithOneLine) {
  expect_wrong({}, "no source");
  expect_wrong({"file"}, "no mount point");
  expect_wrong({"file"}, "recordfs mount file");
  expect_wrong({"-z", "file", "mnt"}, "-z");
  expect_wrong({"file", "mnt", "-o"}, "-o");
  expect_wrong({"file", "mnt", "-o", "nonsense"}, "unknown option -o nonsense");
  expect_wrong({"file", "mnt", "-o", "nonsense=1"}, "unknown option -o nonsense");
  expect_wrong({"file", "mnt", "-o", "allow_other=1"}, "allow_other");
  expect_wrong({"file", "mnt", "-o", "uid"}, "uid");
}

TEST(Options, InvalidValuesAreRefused) {
  for (const char* item : {"uid=",
                           "uid=x",
                           "uid=-1",
                           "uid=4294967296",
                           "uid=4294967295",
                           "gid=1.5",
                           "umask=8",
                           "umask=0x1",
                           "umask=1000",
                           "max_read=many",
                           "threads=0",
                           "threads=1025",
                           "threads=-1",
                           "cache_size=",
                           "cache_size=M",
                           "cache_size=1X",
                           "cache_size=1MB",
                           "cache_size=-1",
                           "max_chunk=0",
                           "max_chunk=x",
                           "timeout=-1",
                           "timeout=1s",
                           "timeout=99999999999",
                           "descriptors=",
                           "log=",
                           "type=",
                           "record_suffix=",
                           "record_suffix=/x",
                           "record_suffix=7z",
                           "record_suffix=.123456789.123456789.123456789.12"}) {
    expect_wrong({"file", "mnt", "-o", item}, item);
  }
}

TEST(Options, HelpAndVersionSucceed) {
  for (const char* flag : {"-h", "--help"}) {
    const ParsedOptions help = parsed({flag});
    EXPECT_FALSE(help.options);
    EXPECT_EQ(help.status, 0);
    EXPECT_NE(help.output.find("cache_size=SIZE"), std::string::npos);
    EXPECT_NE(help.output.find("\n  first             does one thing\n"), std::string::npos);
  }
  for (const char* flag : {"-V", "--version"}) {
    const ParsedOptions version = parsed({flag});
    EXPECT_EQ(version.status, 0);
    EXPECT_NE(version.output.find("recordfs 1.2.3"), std::string::npos);
    EXPECT_EQ(parsed({flag, "--json"}).output, "{}\n");
  }
  expect_wrong({"--json", "file", "mnt"}, "--json requires --version");
}

TEST(Help, HasATextForEachInvocation) {
  for (const Form form : {Form::kProgram, Form::kCommand, Form::kMount8}) {
    const std::string text = help_text(form, kCommands);
    EXPECT_TRUE(text.ends_with(".\n"));
    EXPECT_NE(text.find("Mount options (-o)"), std::string::npos);
    EXPECT_EQ(text.find("does another") != std::string::npos, form == Form::kProgram);
    EXPECT_EQ(text.find("--ready-fd") != std::string::npos, form != Form::kMount8);
    EXPECT_EQ(text.find("mount.recordfs SOURCE") != std::string::npos, form == Form::kMount8);
  }
}

TEST(Sizes, NumberMayHaveAUnit) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("17"), 17u);
  EXPECT_EQ(parse_size("1k"), 1024u);
  EXPECT_EQ(parse_size("64M"), 64u << 20);
  EXPECT_EQ(parse_size("2G"), 2ull << 30);
  EXPECT_EQ(parse_size("1T"), 1ull << 40);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_size("16777215T"), 16777215ull << 40);
}

TEST(Sizes, OtherTextIsNotASize) {
  for (const char* text : {"", "M", "1MM", "1 M", " 1", "-1", "+1", "1.5M", "0x10", "1X", "1\xff",
                           "18446744073709551616", "16777216T", "18014398509481984K"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace recordfs
