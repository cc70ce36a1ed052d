#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/cpu_quota.h"

namespace bessemer {
namespace {

TEST(ThreadPool, calls_each_worker_once) {
  ThreadPool pool(5);
  EXPECT_EQ(pool.size(), 5);
  for (const int asked : {0, 1, 2, 5, 99}) {
    std::vector<std::atomic<int>> calls(5);
    const int expected = std::clamp(asked, 1, 5);
    auto count = [&](int worker, int workers) {
      EXPECT_EQ(workers, expected);
      ++calls[static_cast<size_t>(worker)];
    };
    pool.run(asked, count);
    for (int w = 0; w < 5; ++w) EXPECT_EQ(calls[static_cast<size_t>(w)], w < expected ? 1 : 0);
  }
}

TEST(ThreadPool, what_a_run_wrote_is_visible_after_it) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(3);
  for (int64_t round = 1; round <= 3000; ++round) {
    auto add = [&](int worker, int) { sums[static_cast<size_t>(worker)] += round; };
    pool.run(1 + static_cast<int>(round % 3), add);
  }
  EXPECT_EQ(sums[0], 3000 * 3001 / 2);
}

TEST(ThreadPool, a_barrier_separates_what_is_before_from_what_is_after) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    int values[4] = {};
    std::atomic<int> wrong{0};
    auto phases = [&](int worker, int workers) {
      for (int phase = 1; phase <= 3; ++phase) {
        values[worker] = phase;
        pool.barrier();
        for (int w = 0; w < workers; ++w) wrong += values[w] != phase;
        pool.barrier();
      }
    };
    pool.run(2 + round % 3, phases);
    ASSERT_EQ(wrong, 0);
  }
}

TEST(ThreadPool, several_threads_may_run_at_once) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u) {
    users.emplace_back([&, u] {
      for (int i = 0; i < 200; ++i) {
        auto work = [&](int, int) {
          pool.barrier();
          ++total;
          pool.barrier();
        };
        pool.run(1 + u % 3, work);
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(total, 200 * (1 + 2 + 3 + 1));
}

TEST(ThreadPool, runs_after_its_workers_have_gone_to_sleep) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  auto work = [&](int, int) { ++calls; };
  for (int i = 0; i < 3; ++i) {
    pool.run(2, work);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(calls, 6);
}

TEST(ThreadPool, is_idle_when_idle) {
  ThreadPool pool(4);
  auto work = [](int, int) {};
  pool.run(4, work);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.05) << "CPU time of the whole process in 0.2 s of doing nothing";
}

TEST(ThreadPool, many_pools_come_and_go) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 3 == 0) continue;  // some are never used
    std::atomic<int> calls{0};
    auto work = [&](int, int) { ++calls; };
    pool.run(4, work);
    EXPECT_EQ(calls, 1 + i % 4);
  }
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow threads over a fork
TEST(ThreadPool, a_forked_child_works_alone_instead_of_hanging) {
  auto pool = std::make_unique<ThreadPool>(3);
  auto work = [](int, int) {};
  pool->run(3, work);
  const pid_t child = fork();
  if (child == 0) {
    int calls = 0;
    auto alone = [&](int worker, int workers) {
      pool->barrier();
      calls += worker == 0 && workers == 1;
    };
    pool->run(3, alone);
    pool.reset();
    ThreadPool fresh(2);
    std::atomic<int> both{0};
    auto count = [&](int, int) { ++both; };
    fresh.run(2, count);
    _exit(calls == 1 && both == 2 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  pool->run(3, work);  // the parent's pool is as it was
}
#endif

TEST(ThreadPool, uses_no_more_than_this_process_may) {
  EXPECT_GE(ThreadPool::usable_cpus(), 1);
  EXPECT_LE(ThreadPool::usable_cpus(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(ThreadPool().size(), ThreadPool::usable_cpus());
}

// A file system of cgroup files in a temporary directory.
class CpuQuota : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "cgroup_test_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::string root_;
};

TEST_F(CpuQuota, is_absent_without_cgroups) { EXPECT_FALSE(cgroup_cpu_quota(root_)); }

TEST_F(CpuQuota, version_2_takes_the_tightest_ancestor) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(cgroup_cpu_quota(root_));
  write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 1.5);
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 1.5);
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 0.5);
}

TEST_F(CpuQuota, inside_a_container_the_mount_is_the_group) {
  write("/proc/self/cgroup", "0::/../../not/visible\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 2.0);
}

TEST_F(CpuQuota, version_1_reads_the_cpu_controller) {
  write("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x/y\n1:cpuset:/x\n");
  write("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cgroup_cpu_quota(root_));
  write("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 3.0);
}

TEST_F(CpuQuota, nonsense_is_no_quota) {
  write("/proc/self/cgroup", "0::/\n::\nx\n3:cpu:relative\n");
  write("/sys/fs/cgroup/cpu.max", "soon\n");
  EXPECT_FALSE(cgroup_cpu_quota(root_));
}

}  // namespace
}  // namespace bessemer
