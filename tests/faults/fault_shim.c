// Loaded with LD_PRELOAD into one process: makes calls on regular files fail or wait, and shifts the wall clock, as the
// control file named by SIDEBAND_FAULTS says at that moment. tests/faults/shim.py writes that file.
//
// Only files and folders whose path contains the control file's `path` are touched: pipes, sockets and the process's
// own record never are. Without SIDEBAND_FAULTS, or before it is mapped, every call goes through. SIDEBAND_SYNCED names
// a file that gets a line for each sync that worked, "<bytes> <path>": what would survive a power cut.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum Call { CALL_WRITE, CALL_SYNC, CALL_ALLOCATE, CALL_MAP, CALLS };

struct Rule {
  int64_t error;     // errno to fail with; 0: go through
  int64_t times;     // so many more calls, -1: all
  int64_t delay_us;  // before the call
  int64_t hits;      // calls that failed or waited, counted here
};

struct Control {
  struct Rule rules[CALLS];
  int64_t wall_shift_ns;
  char path[256];
};

static struct Control* control;
static int synced = -1;

static void* next(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void map_control(void) {
  const char* path = getenv("SIDEBAND_FAULTS");
  if (path == NULL) return;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  static void* (*real)(void*, size_t, int, int, int, off_t);
  real = next("mmap");
  void* mapped = real(NULL, sizeof(struct Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) control = mapped;
  const char* list = getenv("SIDEBAND_SYNCED");
  if (list != NULL) synced = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// The path of a file or folder, and its size; 0 when the descriptor is neither or its path is not concerned.
static int find_path(int fd, char* path, size_t bytes, off_t* size) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, bytes - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  *size = status.st_size;
  return strstr(path, control->path) != NULL;
}

static int is_concerned(int fd) {
  char path[4096];
  off_t size = 0;
  return find_path(fd, path, sizeof path, &size);
}

static void note_sync(int fd, int result) {
  char path[4096];
  off_t size = 0;
  if (result != 0 || synced < 0 || !find_path(fd, path, sizeof path, &size)) return;
  dprintf(synced, "%lld %s\n", (long long)size, path);
}

// The errno to fail with, or 0 after what delay there is.
static int fault(enum Call call, int fd) {
  if (control == NULL) return 0;
  struct Rule* rule = &control->rules[call];
  const int64_t error = __atomic_load_n(&rule->error, __ATOMIC_RELAXED);
  const int64_t delay_us = __atomic_load_n(&rule->delay_us, __ATOMIC_RELAXED);
  if ((error == 0 && delay_us == 0) || !is_concerned(fd)) return 0;
  const int64_t times = __atomic_load_n(&rule->times, __ATOMIC_RELAXED);
  if (times == 0 || (times > 0 && __atomic_fetch_sub(&rule->times, 1, __ATOMIC_RELAXED) <= 0)) return 0;
  __atomic_add_fetch(&rule->hits, 1, __ATOMIC_RELAXED);
  if (delay_us > 0) usleep((useconds_t)delay_us);
  return (int)error;
}

#define FAIL_IF_WANTED(call, fd)      \
  const int wanted = fault(call, fd); \
  if (wanted != 0) {                  \
    errno = wanted;                   \
    return -1;                        \
  }

ssize_t write(int fd, const void* data, size_t bytes) {
  static ssize_t (*real)(int, const void*, size_t);
  if (real == NULL) real = next("write");
  FAIL_IF_WANTED(CALL_WRITE, fd)
  return real(fd, data, bytes);
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off_t);
  if (real == NULL) real = next("pwrite");
  FAIL_IF_WANTED(CALL_WRITE, fd)
  return real(fd, data, bytes, offset);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  static ssize_t (*real)(int, const struct iovec*, int);
  if (real == NULL) real = next("writev");
  FAIL_IF_WANTED(CALL_WRITE, fd)
  return real(fd, parts, count);
}

ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  static ssize_t (*real)(int, const struct iovec*, int, off_t);
  if (real == NULL) real = next("pwritev");
  FAIL_IF_WANTED(CALL_WRITE, fd)
  return real(fd, parts, count, offset);
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = next("fsync");
  FAIL_IF_WANTED(CALL_SYNC, fd)
  const int result = real(fd);
  note_sync(fd, result);
  return result;
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (real == NULL) real = next("fdatasync");
  FAIL_IF_WANTED(CALL_SYNC, fd)
  const int result = real(fd);
  note_sync(fd, result);
  return result;
}

int syncfs(int fd) {
  static int (*real)(int);
  if (real == NULL) real = next("syncfs");
  FAIL_IF_WANTED(CALL_SYNC, fd)
  return real(fd);
}

int posix_fallocate(int fd, off_t offset, off_t bytes) {
  static int (*real)(int, off_t, off_t);
  if (real == NULL) real = next("posix_fallocate");
  const int wanted = fault(CALL_ALLOCATE, fd);
  return wanted != 0 ? wanted : real(fd, offset, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  static int (*real)(int, int, off_t, off_t);
  if (real == NULL) real = next("fallocate");
  FAIL_IF_WANTED(CALL_ALLOCATE, fd)
  return real(fd, mode, offset, bytes);
}

void* mmap(void* where, size_t bytes, int protection, int flags, int fd, off_t offset) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  if (real == NULL) real = next("mmap");
  const int wanted = fd < 0 ? 0 : fault(CALL_MAP, fd);
  if (wanted == 0) return real(where, bytes, protection, flags, fd, offset);
  errno = wanted;
  return MAP_FAILED;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) real = next("clock_gettime");
  const int result = real(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME || control == NULL) return result;
  const int64_t shift_ns = __atomic_load_n(&control->wall_shift_ns, __ATOMIC_RELAXED);
  const int64_t ns = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + shift_ns;
  time->tv_sec = ns / 1000000000;
  time->tv_nsec = ns % 1000000000;
  return 0;
}
