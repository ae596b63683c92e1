// By default, a sanitizer ends the program on an allocation that is too large.
namespace {
constexpr const char* kOptions = "allocator_may_return_null=1";
}  // namespace

extern "C" {
const char* __asan_default_options();
const char* __asan_default_options() { return kOptions; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return kOptions; }
}
