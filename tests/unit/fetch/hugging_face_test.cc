// Requests to Hugging Face's hub, and its answers.
#include "core/fetch/hugging_face.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/fetch/fake_environment.h"

namespace recordfs::fetch {
namespace {

using testing::FakeEnvironment;
using testing::header;
using testing::response_with;

const std::string kCommit(40, 'a');

class HuggingFaceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Origin> make(bool sign = true) { return hugging_face(environment.get(), sign); }
  HttpRequest object(const std::string& url, const ObjectRange& range = {.end = 1}) {
    return make()->object(url, range).value();
  }

  FakeEnvironment environment;
};

TEST_F(HuggingFaceTest, FilesHaveTheirUrls) {
  const std::string hub = "https://huggingface.co";
  EXPECT_EQ(object("hf://datasets/user/repo/a b/x=1.riegeli").url,
            hub + "/datasets/user/repo/resolve/main/a%20b/x%3D1.riegeli");
  EXPECT_EQ(object("hf://spaces/user/repo@v1/x").url, hub + "/spaces/user/repo/resolve/v1/x");
  EXPECT_EQ(object("hf://user/repo/x").url, hub + "/user/repo/resolve/main/x");
  EXPECT_EQ(object("hf://models/user/repo/x").url, hub + "/user/repo/resolve/main/x");
  EXPECT_EQ(object("hf://datasets/u/r@refs/convert/parquet/d/x").url,
            hub + "/datasets/u/r/resolve/refs%2Fconvert%2Fparquet/d/x");
  EXPECT_EQ(object("hf://datasets/u/r@refs%2Fpr%2F7/x").url, hub + "/datasets/u/r/resolve/refs%2Fpr%2F7/x");
  EXPECT_EQ(object("hf://datasets/u/r/100%?#").url, hub + "/datasets/u/r/resolve/main/100%25%3F%23");
}

TEST_F(HuggingFaceTest, UrlsOfNoFileAreRefused) {
  EXPECT_EQ(make()->object("hf://datasets/u/r", {.end = 1}).error().os_error, EISDIR);
  EXPECT_EQ(make()->object("hf://datasets/u/r@v1/", {.end = 1}).error().os_error, EISDIR);
  for (const char* const url :
       {"hf://datasets", "hf://datasets/u", "hf://datasets/u/", "hf://u", "hf://datasets/u/r@/x",
        "hf://datasets/u/r/../../../x", "hf://datasets/u/r/a//b", "hf://datasets/u/r/a/./b", "hf://datasets/../r/x",
        "hf://datasets/u/r/a\nb", "hf://datasets/u?/r/x"}) {
    const auto request = make()->object(url, {.end = 1});
    ASSERT_FALSE(request) << url;
    EXPECT_EQ(request.error().code, Code::kUnsupported) << url;
  }
}

TEST_F(HuggingFaceTest, CommitOfARedirectIsPinned) {
  HttpResponse redirect = response_with(302);
  redirect.headers = {{"x-repo-commit", kCommit}, {"x-linked-size", "1234"}, {"x-linked-etag", "\"sha\""}};
  const auto linked = make()->linked(redirect);
  EXPECT_EQ(linked.size, 1234u);
  EXPECT_EQ(linked.etag, "\"sha\"");
  EXPECT_EQ(linked.version, kCommit);
  const HttpRequest request =
      object("hf://datasets/u/r@v1/x", {.begin = 1, .end = 3, .if_match = "\"other\"", .version = linked.version});
  EXPECT_EQ(request.url, "https://huggingface.co/datasets/u/r/resolve/" + kCommit + "/x");
  EXPECT_EQ(request.headers, std::vector<std::string>{"Range: bytes=1-2"});
}

TEST_F(HuggingFaceTest, MalformedFactsOfARedirectAreLeftOut) {
  HttpResponse redirect = response_with(302);
  redirect.headers = {{"x-repo-commit", "../" + kCommit}, {"x-linked-size", "-1"}, {"x-linked-etag", "W/\"sha\""}};
  const auto linked = make()->linked(redirect);
  EXPECT_FALSE(linked.size);
  EXPECT_EQ(linked.etag, "");
  EXPECT_EQ(linked.version, "");
  for (const std::string_view etag :
       {std::string_view("\"a\0b\"", 5), std::string_view("\"a\r\nX: y\""), std::string_view("\"a b\""),
        std::string_view("\"a\"b\""), std::string_view("\"\"")}) {
    redirect.headers = {{"x-linked-etag", std::string(etag)}};
    EXPECT_EQ(make()->linked(redirect).etag, "") << etag;
  }
}

TEST_F(HuggingFaceTest, TokenComesFromTheEnvironmentOrAFile) {
  const std::string url = "hf://u/r/x";
  EXPECT_EQ(header(object(url), "Authorization"), "");
  EXPECT_FALSE(object(url).has_credentials);
  environment.home.write(".cache/huggingface/token", "hf_stored\n");
  EXPECT_EQ(header(object(url), "Authorization"), "Bearer hf_stored");
  environment.home.write("hub/token", "hf_home");
  environment.variables["HF_HOME"] = "~/hub";
  EXPECT_EQ(header(object(url), "Authorization"), "Bearer hf_home");
  environment.home.write("mine", "hf_mine");
  environment.variables["HF_TOKEN_PATH"] = environment.home.path() + "/mine";
  EXPECT_EQ(header(object(url), "Authorization"), "Bearer hf_mine");
  environment.variables["HF_TOKEN"] = "hf_variable";
  EXPECT_EQ(header(object(url), "Authorization"), "Bearer hf_variable");
  EXPECT_TRUE(object(url).has_credentials);
  EXPECT_EQ(header(make(false)->object(url, {.end = 1}).value(), "Authorization"), "");
  environment.variables["HF_TOKEN"] = "a\nb";
  EXPECT_EQ(make()->object(url, {.end = 1}).error().code, Code::kUnsupported);
  environment.variables["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1";
  EXPECT_EQ(header(object(url), "Authorization"), "");
}

TEST_F(HuggingFaceTest, EndpointCanBeAnother) {
  environment.variables["HF_ENDPOINT"] = "http://127.0.0.1:8000/hub/";
  EXPECT_EQ(object("hf://u/r/x").url, "http://127.0.0.1:8000/hub/u/r/resolve/main/x");
  environment.variables["HF_ENDPOINT"] = "file:///x";
  EXPECT_EQ(make()->object("hf://u/r/x", {.end = 1}).error().code, Code::kUnsupported);
}

TEST_F(HuggingFaceTest, ListsADirectoryInPages) {
  const auto origin = make();
  const std::string url = "hf://datasets/u/r@v1/d";
  EXPECT_EQ(origin->list("hf://datasets/u/r", "")->url, "https://huggingface.co/api/datasets/u/r/tree/main");
  EXPECT_EQ(origin->list("hf://u/r/", "")->url, "https://huggingface.co/api/models/u/r/tree/main");
  EXPECT_EQ(origin->list(url, "a=+/")->url, "https://huggingface.co/api/datasets/u/r/tree/v1/d?cursor=a%3D%2B%2F");
  HttpResponse response = response_with(200, R"([{"type":"directory","oid":"1","size":0,"path":"d/sub"},
               {"type":"file","oid":"2","size":5,"path":"d/x y","lfs":{"oid":"3","size":99,"path":"no"}},
               {"type":"file","size":5,"path":"d/sub/deep"},{"type":"file","size":5,"path":"other"},
               {"type":"submodule","path":"d/m"}])");
  response.headers = {{"link",
                       "<https://huggingface.co/api/x?cursor=p>; rel=\"prev\", "
                       "<https://huggingface.co/api/datasets/u/r/tree/v1/d?limit=2&cursor=a%3D%2B>; rel=\"next\""}};
  const auto page = origin->parse_list(url, response);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entries.size(), 2u);
  EXPECT_EQ(page->entries[0].name, "sub");
  EXPECT_TRUE(page->entries[0].is_directory);
  EXPECT_EQ(page->entries[1].name, "x y");
  EXPECT_EQ(page->entries[1].size, 5u);
  EXPECT_EQ(page->next, "a=+");
}

TEST_F(HuggingFaceTest, EveryFormOfALinkToTheNextPageIsRead) {
  const auto origin = make();
  const std::string target = "<https://huggingface.co/api/x?cursor=c>";
  const auto next_of = [&](std::vector<std::string> links) {
    HttpResponse response = response_with(200, "[]");
    for (std::string& link : links) response.headers.emplace_back("link", std::move(link));
    return origin->parse_list("hf://u/r/", response)->next;
  };
  for (const char* const parameters :
       {"; rel=\"next\"", ";rel=next", "; rel='next'", "; Rel=\"NEXT\"", "; rel = next", "; title=x; rel=\"last next\"",
        "; rel=next, <https://huggingface.co/>; rel=prev"}) {
    EXPECT_EQ(next_of({target + parameters}), "c") << parameters;
  }
  EXPECT_EQ(next_of({"<https://huggingface.co/api/x?cursor=p>; rel=\"prev\"", target + "; rel=\"next\""}), "c");
  for (const char* const parameters : {"", "; rel=prev", "; rel=nextish", "; title=\"next\""}) {
    EXPECT_EQ(next_of({target + parameters}), "") << parameters;
  }
}

TEST_F(HuggingFaceTest, FileWithoutAValidSizeIsDamage) {
  for (const char* const size : {"", R"(,"size":5.0)", R"(,"size":-5)"}) {
    const auto page =
        make()->parse_list("hf://u/r/", response_with(200, R"([{"type":"file","path":"x")" + std::string(size) + "}]"));
    ASSERT_FALSE(page) << size;
    EXPECT_EQ(page.error().code, Code::kDamage) << size;
  }
}

TEST_F(HuggingFaceTest, OnlyAnotherEndpointIsAPlace) {
  EXPECT_EQ(make()->place("hf://u/r/x"), "");
  environment.variables["HF_ENDPOINT"] = "https://huggingface.co/";
  EXPECT_EQ(make()->place("hf://u/r/x"), "");
  environment.variables["HF_ENDPOINT"] = "http://127.0.0.1:8000/";
  EXPECT_EQ(make()->place("hf://u/r/x"), "http://127.0.0.1:8000");
}

TEST_F(HuggingFaceTest, NextPageOnAnotherServerIsDamage) {
  const auto origin = make();
  for (const char* const link : {"https://evil.example/api?cursor=a", "http://huggingface.co/api?cursor=a",
                                 "https://huggingface.co:444/?cursor=a", "https://huggingface.co/api", "nonsense"}) {
    HttpResponse response = response_with(200, "[]");
    response.headers = {{"link", "<" + std::string(link) + ">; rel=\"next\""}};
    const auto page = origin->parse_list("hf://u/r/", response);
    ASSERT_FALSE(page) << link;
    EXPECT_EQ(page.error().code, Code::kDamage) << link;
  }
  EXPECT_EQ(origin->parse_list("hf://u/r/", response_with(200, "<html>")).error().code, Code::kUnsupported);
}

TEST_F(HuggingFaceTest, AnswersHaveTheirMeaning) {
  const auto explained = [&](long status, const std::string& code, const std::string& message = {}) {
    HttpResponse response = response_with(status);
    response.headers = {{"x-error-code", code}, {"x-error-message", message}};
    return make()->explain("hf://u/r/x", response);
  };
  EXPECT_EQ(explained(404, "EntryNotFound").error.detail, "HTTP 404: no such file in the repository");
  EXPECT_EQ(explained(404, "EntryNotFound").error.os_error, ENOENT);
  EXPECT_EQ(explained(404, "RevisionNotFound").error.os_error, ENOENT);
  EXPECT_EQ(explained(401, "RepoNotFound").error.os_error, EACCES);
  EXPECT_NE(explained(401, "").error.detail.find("HF_TOKEN"), std::string::npos);
  EXPECT_NE(explained(403, "GatedRepo").error.detail.find("allow access"), std::string::npos);
  EXPECT_EQ(explained(429, "").advice, Advice::kRetry);
  EXPECT_EQ(explained(400, "", "why\n").error.detail, "HTTP 400: why\\x0a");
  environment.variables["HF_TOKEN"] = "hf_secret";
  EXPECT_EQ(explained(400, "", "bad token hf_secret").error.detail, "HTTP 400: bad request");
}

}  // namespace
}  // namespace recordfs::fetch
