/* Landlock: https://docs.kernel.org/userspace-api/landlock.html */
#include "serve/confine.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The rights of Landlock's first version, which every later kernel supports. */
enum {
    READ_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                  LANDLOCK_ACCESS_FS_READ_DIR,
    ALL_RIGHTS = READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE |
                 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                 LANDLOCK_ACCESS_FS_MAKE_SYM,
    FOLDER_RIGHTS =
        ALL_RIGHTS & ~(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                       LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                       LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM),
    DEVICE_RIGHTS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
};

/* The version of Landlock in this kernel; negative: it has none. */
static long find_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static void allow_beneath(int rules, int fd, uint64_t rights)
{
    const struct landlock_path_beneath_attr rule = {.allowed_access = rights,
                                                    .parent_fd = fd};
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* A path that does not exist needs no rule. */
static void allow_path(int rules, const char *path, uint64_t rights)
{
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    allow_beneath(rules, fd, rights);
    close(fd);
}

bool serve_confine(int folder_fd)
{
    static const char *const libraries[] = {"/usr/lib", "/usr/local/lib", "/lib",
                                            "/lib64"};
    /* cores, memory and limits of the machine */
    static const char *const facts[] = {"/proc", "/sys/devices/system", "/sys/fs/cgroup"};
    /* Without it, files could not move between folders, not even within this one. */
    const uint64_t refer = find_version() >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    const struct landlock_ruleset_attr what = {.handled_access_fs = ALL_RIGHTS | refer};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &what, sizeof what, 0);
    if (rules < 0)
        return false;
    allow_beneath(rules, folder_fd, FOLDER_RIGHTS | refer);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        allow_path(rules, libraries[i], READ_RIGHTS);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        allow_path(rules, facts[i],
                   LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
    allow_path(rules, "/etc/ld.so.cache", LANDLOCK_ACCESS_FS_READ_FILE);
    allow_path(rules, "/dev/null", DEVICE_RIGHTS);
    allow_path(rules, "/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE);
    const bool confined = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                          syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return confined;
}
