/*
 * Preloaded into mariadbd. While the file exists that LOOSELEAF_HANG_LOG names, every call that writes or syncs InnoDB's
 * redo log waits, as with a disk that has stopped answering. Each call that begins to wait adds a byte to the file of that
 * name with ".hung" behind it. All other files are left alone, and so is every other program that inherits the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOOK_AGAIN_MICROS 2000

static int is_redo_log(int fd) {
  static const char name[] = "/ib_logfile0";
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  ssize_t suffix = sizeof name - 1;
  return length >= suffix && memcmp(path + length - suffix, name, suffix) == 0;
}

/* By system calls of its own: those below are the ones that wait. */
static void count(const char *control) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.hung", control);
  long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, ".", 1);
  syscall(SYS_close, fd);
}

static void wait_while_hanging(int fd) {
  const char *control = getenv("LOOSELEAF_HANG_LOG");
  if (control == NULL || access(control, F_OK) != 0 || !is_redo_log(fd)) return;
  count(control);
  while (access(control, F_OK) == 0) usleep(LOOK_AGAIN_MICROS);
}

#define WAITING(result, name, parameters, arguments)            \
  result name parameters {                                      \
    static result(*real) parameters;                            \
    if (real == NULL) real = dlsym(RTLD_NEXT, #name);           \
    wait_while_hanging(fd);                                     \
    return real arguments;                                      \
  }

WAITING(ssize_t, write, (int fd, const void *bytes, size_t n), (fd, bytes, n))
WAITING(ssize_t, writev, (int fd, const struct iovec *parts, int n), (fd, parts, n))
WAITING(ssize_t, pwrite, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
WAITING(ssize_t, pwrite64, (int fd, const void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
WAITING(ssize_t, pwritev, (int fd, const struct iovec *parts, int n, off_t at), (fd, parts, n, at))
WAITING(ssize_t, pwritev64, (int fd, const struct iovec *parts, int n, off64_t at), (fd, parts, n, at))
WAITING(int, fsync, (int fd), (fd))
WAITING(int, fdatasync, (int fd), (fd))
