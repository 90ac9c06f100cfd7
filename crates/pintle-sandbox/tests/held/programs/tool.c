// The calls that attacks need and that no shell has. `tool CALL ARGUMENTS`: exit 0 when the call did what it was for.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LENGTH 64
#define IS(name) (strcmp(call, name) == 0)

static char **args;
static long number(int n) { return strtol(args[n], NULL, 0); }

// `done(ok)`: the exit code, with the reason on stderr.
static int done(int ok) {
    if (!ok) perror(args[0]);
    return ok ? 0 : 1;
}

static int shown(const char *text, long length) {
    if (length < 0) return done(0);
    fwrite(text, 1, (size_t)length, stdout);
    return fflush(stdout);
}

// A process of the host that has something to lose: in its memory, its environment and behind descriptor 7.
static char memory[LENGTH] = "untouched";
static int victim(void) {
    int file = open(args[1], O_RDONLY);
    if (file < 0 || dup2(file, 7) < 0) return done(0);
    strncpy(memory, args[2], LENGTH - 1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    printf("%p\n", (void *)memory);
    fflush(stdout);
    for (;;) pause();
}

static int ptrace_memory(int write) {
    pid_t pid = (pid_t)number(1);
    char *at = (char *)number(2);
    union { long word; char text[sizeof(long)]; } piece = {.text = "poked"};
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) < 0) return done(0);
    waitpid(pid, NULL, __WALL);
    if (write) {
        long set = ptrace(PTRACE_POKEDATA, pid, at, piece.word);
        ptrace(PTRACE_DETACH, pid, 0, 0);
        return done(set == 0);
    }
    for (int i = 0; i < LENGTH; i += (int)sizeof(long)) {
        piece.word = ptrace(PTRACE_PEEKDATA, pid, at + i, 0);
        fwrite(piece.text, 1, sizeof(long), stdout);
    }
    ptrace(PTRACE_DETACH, pid, 0, 0);
    return fflush(stdout);
}

static int other_memory(int write) {
    char text[LENGTH] = "poked";
    struct iovec here = {text, write ? 5 : LENGTH}, there = {(void *)number(2), here.iov_len};
    if (write) return done(process_vm_writev((pid_t)number(1), &here, 1, &there, 1, 0) > 0);
    return shown(text, process_vm_readv((pid_t)number(1), &here, 1, &there, 1, 0));
}

static int take_descriptor(void) {
    char text[LENGTH];
    int process = (int)syscall(SYS_pidfd_open, number(1), 0);
    int file = (int)syscall(SYS_pidfd_getfd, process, number(2), 0);
    return shown(text, pread(file, text, LENGTH, 0));
}

static int key(const char *call) {
    char text[LENGTH];
    if (IS("key-read")) return shown(text, syscall(SYS_keyctl, 11, number(1), text, LENGTH));
    long made = syscall(SYS_add_key, "user", args[1], args[2], strlen(args[2]), -4);
    if (made < 0 || syscall(SYS_keyctl, 5, made, 0x3f3f0000) < 0) return done(0);
    return printf("%ld\n", made) < 0;
}

static int shared_memory(const char *call) {
    int id = IS("shm-make") ? shmget(IPC_PRIVATE, LENGTH, 0600) : (int)number(1);
    if (IS("shm-remove")) return done(shmctl(id, IPC_RMID, NULL) == 0);
    char *at = shmat(id, NULL, 0);
    if (at == (void *)-1) return done(0);
    if (IS("shm-make")) return strcpy(at, args[1]), printf("%d\n", id) < 0;
    if (IS("shm-write")) return strcpy(at, "poked"), 0;
    return shown(at, LENGTH);
}

static int queue(const char *call) {
    struct mq_attr size = {.mq_maxmsg = 4, .mq_msgsize = LENGTH};
    char text[LENGTH];
    int makes = IS("queue-make");
    if (IS("queue-remove")) return done(mq_unlink(args[1]) == 0);
    mqd_t opened = mq_open(args[1], O_RDWR | (makes ? O_CREAT : 0), 0600, &size);
    if (opened < 0) return done(0);
    if (makes) return done(mq_send(opened, args[2], strlen(args[2]), 0) == 0);
    return shown(text, mq_receive(opened, text, LENGTH, NULL));
}

// A signal that the kernel sends because a file became readable.
static int signal_by_file(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return done(0);
    int set = fcntl(ends[0], F_SETOWN, (int)number(1)) | fcntl(ends[0], F_SETSIG, SIGTERM) |
              fcntl(ends[0], F_SETFL, O_ASYNC);
    return done(set == 0 && write(ends[1], "x", 1) == 1);
}

static int type_into(void) {
    int tty = open(args[1], O_RDWR | O_NOCTTY);
    for (char *c = args[2]; *c; c++)
        if (ioctl(tty, TIOCSTI, c) < 0) return done(0);
    return done(tty >= 0);
}

static int by_handle(const char *call) {
    struct { struct file_handle head; unsigned char bytes[MAX_HANDLE_SZ]; } handle = {.head.handle_bytes = MAX_HANDLE_SZ};
    int mount;
    char text[LENGTH];
    if (IS("handle-of")) {
        if (name_to_handle_at(AT_FDCWD, args[1], &handle.head, &mount, 0) < 0) return done(0);
        printf("%d:%u:", handle.head.handle_type, handle.head.handle_bytes);
        for (unsigned i = 0; i < handle.head.handle_bytes; i++) printf("%02x", handle.head.f_handle[i]);
        return printf("\n") < 0;
    }
    char *hex = NULL;
    handle.head.handle_type = (int)strtol(args[2], &hex, 10);
    handle.head.handle_bytes = (unsigned)strtol(hex + 1, &hex, 10);
    for (unsigned i = 0; i < handle.head.handle_bytes; i++) sscanf(hex + 1 + 2 * i, "%2hhx", &handle.head.f_handle[i]);
    int file = open_by_handle_at(open(args[1], O_RDONLY), &handle.head, O_RDONLY);
    return shown(text, read(file, text, LENGTH));
}

// One entry through io_uring, without a library.
static int uring(struct io_uring_sqe entry) {
    static int ring = -1;
    static char *queue_at;
    static struct io_uring_sqe *entries;
    static struct io_uring_params set;
    if (ring < 0) {
        ring = (int)syscall(SYS_io_uring_setup, 4, &set);
        if (ring < 0) return -errno;
        size_t size = set.cq_off.cqes + set.cq_entries * sizeof(struct io_uring_cqe) + 4096;
        queue_at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        entries = mmap(NULL, 4 * sizeof(entry), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
        if (queue_at == MAP_FAILED || entries == MAP_FAILED) return -errno;
    }
    unsigned *tail = (unsigned *)(queue_at + set.sq_off.tail), *head = (unsigned *)(queue_at + set.cq_off.head);
    unsigned mask = *(unsigned *)(queue_at + set.sq_off.ring_mask), at = *tail & mask;
    entries[at] = entry;
    ((unsigned *)(queue_at + set.sq_off.array))[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) return -errno;
    struct io_uring_cqe *ended = (struct io_uring_cqe *)(queue_at + set.cq_off.cqes);
    int result = ended[*head & *(unsigned *)(queue_at + set.cq_off.ring_mask)].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static int uring_call(const char *call) {
    static char text[LENGTH];
    int writes = IS("uring-write"), file;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (IS("uring-connect")) {
        to.sin_port = htons((uint16_t)number(1));
        file = uring((struct io_uring_sqe){.opcode = IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM});
        errno = -uring((struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = file, .addr = (uintptr_t)&to, .off = sizeof(to)});
        if (errno) return done(0);
    } else {
        file = uring((struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)args[1],
                                           .open_flags = writes ? O_WRONLY : O_RDONLY});
        errno = file < 0 ? -file : 0;
        if (file < 0) return done(0);
    }
    if (IS("uring-read"))
        return shown(text, uring((struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = file, .addr = (uintptr_t)text, .len = LENGTH}));
    int sent = uring((struct io_uring_sqe){.opcode = IORING_OP_WRITE, .fd = file, .addr = (uintptr_t)args[2], .len = (unsigned)strlen(args[2])});
    return done(sent > 0);
}

static int set_user_id(const char *call) {
    struct { uint64_t flags, mode, resolve; } how = {O_CREAT | O_WRONLY, 04755, 0};
    if (IS("suid-openat2")) return done(syscall(SYS_openat2, AT_FDCWD, args[1], &how, sizeof(how)) >= 0);
    if (IS("suid-creat")) return done(creat(args[1], 04755) >= 0);
    if (IS("suid-mknod")) return done(mknod(args[1], S_IFREG | 04755, 0) == 0);
    if (IS("suid-fchmodat2")) return done(syscall(452, AT_FDCWD, args[1], 04755, 0) == 0);
    return done(fchmod(open(args[1], O_RDONLY), 04755) == 0);
}

// TCP in other clothes: multipath, or data in the first packet.
static int connection(const char *call) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(1)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, IS("mptcp") ? 262 : 0);
    if (IS("fastopen")) return done(sendto(s, args[2], strlen(args[2]), MSG_FASTOPEN, (void *)&to, sizeof(to)) > 0);
    return done(connect(s, (void *)&to, sizeof(to)) == 0 && write(s, args[2], strlen(args[2])) > 0);
}

static int machine(const char *call) {
    struct perf_event_attr counter = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(counter), .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
    struct { uint32_t type, key, value, entries; } map = {2, 4, 4, 1};
    struct timespec now;
    struct timex clock = {0};
    char text[256];
    if (IS("userfaultfd")) return done(syscall(SYS_userfaultfd, O_CLOEXEC | 1) >= 0);
    if (IS("perf")) return done(syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0) >= 0);
    if (IS("bpf")) return done(syscall(SYS_bpf, 0, &map, sizeof(map)) >= 0);
    if (IS("settime")) return done(clock_gettime(CLOCK_REALTIME, &now) == 0 && clock_settime(CLOCK_REALTIME, &now) == 0);
    // An adjustment by nothing, which still needs the right to adjust.
    if (IS("adjtimex")) return clock.modes = ADJ_OFFSET_SINGLESHOT, done(adjtimex(&clock) >= 0);
    if (IS("hostname")) return done(gethostname(text, sizeof(text)) == 0 && sethostname(text, strlen(text)) == 0);
    if (IS("syslog")) return done(syscall(SYS_syslog, 3, text, sizeof(text)) >= 0);
    if (IS("fanotify")) return done(syscall(SYS_fanotify_init, 0, 0) >= 0);
    if (IS("ldt")) return done(syscall(SYS_modify_ldt, 0, text, sizeof(text)) >= 0);
    if (IS("iopl")) return done(syscall(SYS_iopl, 3) == 0);
    // The loader read it and found that it is not a module.
    if (IS("module")) return done(syscall(SYS_init_module, text, sizeof(text), "") == 0 || errno == ENOEXEC);
    if (IS("swapoff")) return done(syscall(SYS_swapoff, args[1]) == 0 || errno == EINVAL);
    if (IS("chroot")) return done(chroot(args[1]) == 0);
    if (IS("setns")) return done(setns(open(args[1], O_RDONLY), 0) == 0);
    if (IS("x32")) return done(syscall(0x40000000 | SYS_getpid) > 0);
    return done(0);
}

#ifdef __x86_64__
// The calls of 32-bit programs have numbers of their own: 20 is getpid here and writev there.
static int old_call(void) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
    return done(result == getpid());
}
#else
static int old_call(void) { return 1; }
#endif

int main(int count, char **words) {
    const char *call = count > 1 ? words[1] : "";
    args = words + 1;
    if (IS("victim")) return victim();
    if (IS("ptrace-read") || IS("ptrace-write")) return ptrace_memory(IS("ptrace-write"));
    if (IS("memory-read") || IS("memory-write")) return other_memory(IS("memory-write"));
    if (IS("take-descriptor")) return take_descriptor();
    if (strncmp(call, "key-", 4) == 0) return key(call);
    if (strncmp(call, "shm-", 4) == 0) return shared_memory(call);
    if (strncmp(call, "queue-", 6) == 0) return queue(call);
    if (strncmp(call, "uring-", 6) == 0) return uring_call(call);
    if (strncmp(call, "suid-", 5) == 0) return set_user_id(call);
    if (strncmp(call, "handle-", 7) == 0) return by_handle(call);
    if (IS("pidfd-kill")) return done(syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, number(1), 0), SIGKILL, NULL, 0) == 0);
    if (IS("tgkill")) return done(syscall(SYS_tgkill, number(1), number(1), SIGKILL) == 0);
    if (IS("sigqueue")) return done(sigqueue((pid_t)number(1), SIGTERM, (union sigval){0}) == 0);
    if (IS("sigio")) return signal_by_file();
    if (IS("type")) return type_into();
    if (IS("exchange")) return done(syscall(SYS_renameat2, AT_FDCWD, args[1], AT_FDCWD, args[2], 2) == 0);
    if (IS("socket")) return done(socket((int)number(1), (int)number(2), (int)number(3)) >= 0);
    if (IS("priority-of-all")) return done(setpriority(PRIO_USER, 0, (int)number(1)) == 0);
    if (IS("io-priority-of-all")) return done(syscall(SYS_ioprio_set, 3, getuid(), 3 << 13) == 0);
    if (IS("mptcp") || IS("fastopen")) return connection(call);
    if (IS("int80")) return old_call();
    return machine(call);
}
