// Under a sanitizer an allocation that is too large ends the program unless it is told otherwise.
namespace {
constexpr const char* kOptions = "allocator_may_return_null=1";
}  // namespace

extern "C" {
const char* __asan_default_options();
const char* __asan_default_options() { return kOptions; }
const char* __tsan_default_options();
const char* __tsan_default_options() { return kOptions; }
}
