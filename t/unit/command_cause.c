/* command_cause.c - how a command ended, told from its status and its last words: messages that frameworks
 * really print, and words that only sound like them. */
#include <signal.h>
#include <sys/wait.h>

#include "tap.h"

#include "../../lib/job/command-inner.h"

/* What the kernel says of those that it killed for want of memory. */
int64_t __wrap_host_oom_kills(void);
int64_t __wrap_host_oom_kills(void)
{
	return 7;
}

/* As waitpid would have it. */
#define EXITED(n) ((n) << 8)
#define KILLED(s) (s)

static const struct config config = { .device = "cpu" };
static const struct stranger stranger = { 0 };
static const struct command_run how = { .config = &config, .stranger = &stranger };

static void began(struct command *c, struct outcome *result)
{
	memset(result, 0, sizeof *result);
	memset(c, 0, sizeof *c);
	c->how = &how;
	c->result = result;
	c->oom_kills = host_oom_kills();
	c->output.log = -1;
	totals_init(&c->totals);
}

/* "status cause code" of a command that printed this and ended like that. */
static const char *ended(const char *printed, int status, int64_t address_bytes, int64_t kills)
{
	static char text[200];
	struct command *c = malloc(sizeof *c);
	struct outcome result;

	if (!c)
		return "no memory";
	began(c, &result);
	c->cap.address_bytes = address_bytes;
	c->oom_kills -= kills;
	output_take(&c->output, printed, strlen(printed));
	output_end(&c->output);
	c->wait_status = status;
	command_cause(c);
	snprintf(text, sizeof text, "%s %s %d", result.status, c->cause, result.code);
	output_free(&c->output);
	free(c);
	return text;
}

#define TRACE "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    step()\n"

static void memory(void)
{
	static const struct {
		const char *text;
		int status;
		const char *want;
	} cases[] = {
		{ TRACE "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n", EXITED(1), "oom device-memory 1" },
		{ TRACE "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n", EXITED(1), "oom device-memory 1" },
		{ TRACE "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported\n", EXITED(1), "oom device-memory 1" },
		{ TRACE "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n", EXITED(1), "oom device-memory 1" },
		{ TRACE "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 99 bytes.\n", EXITED(1), "oom device-memory 1" },
		{ "[rank0]: " "Traceback (most recent call last):\n[rank0]:   File \"x.py\", line 1\n[rank0]: torch.OutOfMemoryError: CUDA out of memory.\n", EXITED(1), "oom device-memory 1" },
		{ TRACE "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array\n", EXITED(1), "oom host-memory 1" },
		{ TRACE "OSError: [Errno 12] Cannot allocate memory\n", EXITED(1), "oom host-memory 1" },
		{ TRACE "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n", EXITED(1), "oom host-memory 1" },
		{ "memory allocation of 1048576 bytes failed\n", KILLED(SIGABRT), "oom host-memory 1" },
		{ "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n", KILLED(SIGABRT), "oom host-memory 1" },
		{ "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n", EXITED(1), "oom host-memory 1" },
		{ TRACE "MemoryError\n\nDuring handling of the above exception, another exception occurred:\n\n" TRACE "RuntimeError: step failed\n", EXITED(1), "oom host-memory 1" },
		/* none of it */
		{ TRACE "ValueError: memory format option is only supported by strided tensors\n", EXITED(1), "error exception 70" },
		{ TRACE "KeyError: 'memory'\n", EXITED(1), "error exception 70" },
		{ "if you run out of memory, use a smaller batch\n" TRACE "IndexError: list index out of range\n", EXITED(1), "error exception 70" },
		{ TRACE "torch.OutOfMemoryError: CUDA out of memory.\n" "halving the batch\n" TRACE "ValueError: bad batch\n", EXITED(1), "error exception 70" },
		{ TRACE "RuntimeError: can't start new thread\n", EXITED(1), "error exception 70" },
		{ "memory: 12 GB free\nerror: no such option\n", EXITED(2), "error exit 70" },
		{ "CUDA out of memory\n", EXITED(0), "done exit 0" },
		{ "", KILLED(SIGSEGV), "killed signal 70" },
		{ "", KILLED(SIGKILL), "killed signal 70" },
		{ "", EXITED(137), "error exit 70" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char name[300];

		snprintf(name, sizeof name, "%s", cases[i].text);
		for (char *p = name; *p; p++)
			*p = *p == '\n' || *p == '#' ? ' ' : *p;
		is_str(ended(cases[i].text, cases[i].status, 0, 0), cases[i].want, name);
	}
	is_str(ended(TRACE "RuntimeError: can't start new thread\n", EXITED(1), 1 << 30, 0), "oom host-memory 1", "a thread, under a cap");
	is_str(ended("libgomp: Thread creation failed: Resource temporarily unavailable\n", EXITED(1), 1 << 30, 0), "oom host-memory 1", "libgomp, under a cap");
	is_str(ended("libgomp: Thread creation failed: Resource temporarily unavailable\n", EXITED(1), 0, 0), "error exit 70", "libgomp, without one");
}

/* The kernel counts whom it killed for want of memory. */
static void kernel(void)
{
	is_str(ended("", KILLED(SIGKILL), 0, 1), "oom host-memory 1", "killed, and the count went up");
	is_str(ended("Killed\n", EXITED(137), 0, 1), "oom host-memory 1", "behind a shell");
	is_str(ended(TRACE "RuntimeError: DataLoader worker (pid(s) 7) is killed by signal: Killed. \n", EXITED(1), 0, 1), "oom host-memory 1", "a worker of it");
	is_str(ended("", KILLED(SIGSEGV), 0, 1), "killed signal 70", "another signal, while somebody else was killed");
	is_str(ended("", EXITED(0), 0, 1), "done exit 0", "ended well meanwhile");
}

int main(void)
{
	memory();
	kernel();
	return done_testing();
}
