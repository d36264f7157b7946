/* why.c - reasons of failure, and which of two exit codes counts. */
#include "base.h"

#include <errno.h>
#include <string.h>

int why_set(struct why *w, int code, const char *fmt, ...)
{
	va_list ap;

	if (!w)
		return -code;
	w->code = code;
	va_start(ap, fmt);
	vsnprintf(w->text, sizeof w->text, fmt, ap);
	va_end(ap);
	return -code;
}

int why_errno(struct why *w, int code, const char *fmt, ...)
{
	int err = errno;
	size_t n, room;
	char text[128];
	va_list ap;

	if (!w)
		return -code;
	w->code = code;
	va_start(ap, fmt);
	vsnprintf(w->text, sizeof w->text, fmt, ap);
	va_end(ap);
	/* The cause must survive a name that fills the buffer. */
	snprintf(text, sizeof text, ": %s", strerror(err));
	room = sizeof w->text - 1 - strlen(text);
	n = strlen(w->text);
	strcpy(w->text + (n < room ? n : room), text);
	errno = err;
	return -code;
}

static int rank(int code)
{
	switch (code) {
	case 0: return 0;
	case EX_NO: return 1;
	case EX_DATAERR: return 3;
	case EX_UNAVAILABLE: return 4;
	case EX_IOERR: return 5;
	default: return 2;
	}
}

int code_worst(int a, int b)
{
	return rank(b) > rank(a) ? b : a;
}
