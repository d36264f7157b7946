/* memfile.h - a file in memory with a path that readers can open, and a report of why they would not. */
#ifndef PILOT_MEMFILE_H
#define PILOT_MEMFILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct memfile {
	int fd;
	char path[40];
};

static inline struct memfile memfile(const void *p, size_t n)
{
	struct memfile m = { .fd = memfd_create("test", MFD_CLOEXEC) };
	size_t done = 0;

	while (m.fd >= 0 && done < n) {
		ssize_t k = write(m.fd, (const char *)p + done, n - done);
		if (k <= 0)
			break;
		done += (size_t)k;
	}
	snprintf(m.path, sizeof m.path, "/proc/self/fd/%d", m.fd);
	return m;
}

static inline void memfile_close(struct memfile *m)
{
	close(m->fd);
}

#endif
