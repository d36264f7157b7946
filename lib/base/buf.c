/* buf.c - a byte buffer that grows. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

int buf_room(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 256;
	unsigned char *p;

	if (b->cap - b->n >= more && b->p)
		return 0;
	if (more > SIZE_MAX / 2 - b->n)
		return -EX_OSERR;
	while (cap - b->n < more)
		cap *= 2;
	p = realloc(b->p, cap);
	if (!p)
		return -EX_OSERR;
	b->p = p;
	b->cap = cap;
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	int r = buf_room(b, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -EX_SOFTWARE;
	r = buf_room(b, (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf((char *)b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
	return 0;
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}
