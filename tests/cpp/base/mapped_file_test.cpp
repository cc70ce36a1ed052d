#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace bessemer {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(::testing::TempDir() + "bessemer_mapped_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    FILE* out = std::fopen(path_.c_str(), "wb");
    std::fwrite(content.data(), 1, content.size(), out);
    std::fclose(out);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool holds(const MappedFile& file, const std::string& content) {
  const auto bytes = file.bytes();
  return bytes.size() == content.size() &&
         std::memcmp(bytes.data(), content.data(), content.size()) == 0;
}

TEST(MappedFile, HoldsTheFilesBytesAtAStableAddress) {
  const std::string content(10000, 'x');
  const TemporaryFile on_disk(content);
  auto file = MappedFile::open(on_disk.path());
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_TRUE(holds(*file, content));
  const std::byte* address = file->bytes().data();
  MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes().data(), address);
  EXPECT_TRUE(holds(moved, content));
}

TEST(MappedFile, OutlivesTheRemovalOfTheFile) {
  const std::string content = "still here";
  auto on_disk = std::make_unique<TemporaryFile>(content);
  const auto file = MappedFile::open(on_disk->path());
  on_disk.reset();
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(holds(*file, content));
}

TEST(MappedFile, HintsChangeNoByte) {
  std::string content(3 * 4096 + 7, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i % 251);
  const TemporaryFile on_disk(content);
  const auto file = MappedFile::open(on_disk.path());
  ASSERT_TRUE(file.ok());
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4096}, content.size(), ~size_t{0}}) {
    for (const size_t size : {size_t{0}, size_t{5000}, content.size(), ~size_t{0}}) {
      file->prefetch(offset, size);
      file->release(offset, size);
      EXPECT_TRUE(holds(*file, content));
    }
  }
}

TEST(MappedFile, SaysWhyAPathCannotBeMapped) {
  const std::string directory = ::testing::TempDir();
  const std::string fifo = directory + "bessemer_mapped_fifo";
  ::mkfifo(fifo.c_str(), 0600);
  const TemporaryFile empty("");
  const std::pair<std::string, std::string> cases[] = {
      {directory, "a directory"},   {empty.path(), "it is empty"},
      {fifo, "not a regular file"}, {directory + "absent", "cannot open"},
      {"", "cannot open"},          {std::string("a\0b", 3), "NUL"}};
  for (const auto& [path, part] : cases) {
    const auto file = MappedFile::open(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().kind, ErrorKind::kInvalidArgument);
    EXPECT_NE(file.error().message.find(part), std::string::npos) << file.error().message;
  }
  std::remove(fifo.c_str());
}

}  // namespace
}  // namespace bessemer
