/* ledger_format.c - heads of a ledger's members, to bytes and back. */
#include "ledger_format.h"

#include <string.h>
#include <zlib.h>

/* An empty deflate stream, CRC-32 0, length 0. */
static const unsigned char empty_body[10] = { 0x03, 0x00 };
static const unsigned char gzip_head[10] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff };

uint32_t le32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t le64(const unsigned char *p)
{
	return (uint64_t)le32(p) | (uint64_t)le32(p + 4) << 32;
}

static void put16(unsigned char *p, unsigned v)
{
	p[0] = v & 255;
	p[1] = v >> 8 & 255;
}

static void put32(unsigned char *p, uint32_t v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static void put64(unsigned char *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

static uint32_t crc(const unsigned char *p, size_t n)
{
	return (uint32_t)crc32(0, p, (uInt)n);
}

static void prefix(unsigned char *p, size_t head, enum head_type type)
{
	memcpy(p, gzip_head, sizeof gzip_head);
	put16(p + AT_XLEN, (unsigned)(head - AT_SUBFIELD));
	p[AT_SUBFIELD] = 'P';
	p[AT_SUBFIELD + 1] = 'L';
	put16(p + AT_LEN, (unsigned)(head - AT_MAGIC));
	memcpy(p + AT_MAGIC, LEDGER_MAGIC, 8);
	p[AT_TYPE] = (unsigned char)type;
}

void header_write(const unsigned char file[16], unsigned char out[HEADER_SIZE])
{
	memset(out, 0, HEADER_SIZE);
	prefix(out, HEADER_BODY, HEAD_HEADER);
	out[HEADER_VERSION] = LEDGER_VERSION;
	memcpy(out + HEADER_FILE, file, 16);
	put32(out + HEADER_CRC, crc(out, HEADER_CRC));
	memcpy(out + HEADER_BODY, empty_body, sizeof empty_body);
}

int footer_write(struct ledger_receipt *r, const unsigned char prev[32], const unsigned char *data, size_t n, unsigned char out[FOOTER_SIZE])
{
	struct sha *sha = sha_new();

	if (!sha)
		return -EX_OSERR;
	memset(out, 0, FOOTER_SIZE);
	prefix(out, FOOTER_BODY, HEAD_FOOTER);
	memcpy(out + FOOTER_FILE, r->file, 16);
	put64(out + FOOTER_SEQUENCE, (uint64_t)r->sequence);
	put64(out + FOOTER_LENGTH, n);
	put64(out + FOOTER_OFFSET, (uint64_t)(r->end - FOOTER_SIZE));
	put64(out + FOOTER_RECORDS, (uint64_t)r->records);
	put64(out + FOOTER_TIME, (uint64_t)clock_now().seconds);
	sha_add(sha, prev, 32);
	sha_add(sha, data, n);
	sha_add(sha, out, FOOTER_HASH);
	sha_end(sha, r->hash);
	memcpy(out + FOOTER_HASH, r->hash, 32);
	put32(out + FOOTER_CRC, crc(out, FOOTER_CRC));
	memcpy(out + FOOTER_BODY, empty_body, sizeof empty_body);
	return 0;
}

int head_room(struct buf *b, int runs)
{
	size_t n = DATA_ENTRIES + (size_t)runs * ENTRY_SIZE;
	int r = buf_room(b, n);

	if (r == 0) {
		memset(b->p + b->n, 0, n);
		b->n += n;
	}
	return r;
}

static void entry_write(unsigned char *p, const struct ledger_steps *s)
{
	uint64_t bits;

	memcpy(p + ENTRY_RUN, s->run, 26);
	put32(p + ENTRY_COUNT, (uint32_t)s->count);
	put64(p + ENTRY_FIRST, (uint64_t)s->first);
	put64(p + ENTRY_LAST, (uint64_t)s->last);
	put64(p + ENTRY_EXAMPLES, (uint64_t)s->examples);
	memcpy(&bits, &s->seconds, 8);
	put64(p + ENTRY_SECONDS, bits);
	put64(p + ENTRY_T, (uint64_t)s->t.seconds);
	put32(p + ENTRY_T_NS, (uint32_t)s->t.nanoseconds);
}

/* The head's checksum leaves out the four bytes that hold it. */
static uint32_t data_crc(const unsigned char *p, int runs)
{
	uint32_t c = crc(p, DATA_CRC);

	return (uint32_t)crc32(c, p + DATA_ENTRIES, (uInt)runs * ENTRY_SIZE);
}

void head_finish(unsigned char *p, size_t size, enum head_type type, int64_t records, const struct ledger_steps *run, int runs)
{
	prefix(p, DATA_ENTRIES + (size_t)runs * ENTRY_SIZE, type);
	p[DATA_RUNS] = (unsigned char)runs;
	put32(p + DATA_SIZE, (uint32_t)size);
	put32(p + DATA_RECORDS, (uint32_t)records);
	for (int i = 0; i < runs; i++)
		entry_write(p + DATA_ENTRIES + i * ENTRY_SIZE, &run[i]);
	put32(p + DATA_CRC, data_crc(p, runs));
}

static void entry_read(struct ledger_steps *s, const unsigned char *p)
{
	uint64_t bits = le64(p + ENTRY_SECONDS);

	memcpy(s->run, p + ENTRY_RUN, 26);
	s->run[26] = '\0';
	s->count = le32(p + ENTRY_COUNT);
	s->first = (int64_t)le64(p + ENTRY_FIRST);
	s->last = (int64_t)le64(p + ENTRY_LAST);
	s->examples = (int64_t)le64(p + ENTRY_EXAMPLES);
	memcpy(&s->seconds, &bits, 8);
	s->t.seconds = (int64_t)le64(p + ENTRY_T);
	s->t.nanoseconds = (int32_t)le32(p + ENTRY_T_NS);
}

static enum head_state data_read(struct head *h, const unsigned char *p, size_t n)
{
	size_t head;

	h->runs = n > DATA_RUNS ? p[DATA_RUNS] : 0;
	head = DATA_ENTRIES + (size_t)h->runs * ENTRY_SIZE;
	if (n < DATA_ENTRIES || (h->runs <= ENTRY_MAX && n < head))
		return HEAD_CUT;
	if (h->runs > ENTRY_MAX || le32(p + DATA_CRC) != data_crc(p, h->runs))
		return HEAD_WRONG;
	if ((h->type == HEAD_STEPS) != (h->runs > 0) || p[AT_XLEN] + 256u * p[AT_XLEN + 1] != head - AT_SUBFIELD)
		return HEAD_WRONG;
	h->size = le32(p + DATA_SIZE);
	h->records = le32(p + DATA_RECORDS);
	for (int i = 0; i < h->runs; i++)
		entry_read(&h->run[i], p + DATA_ENTRIES + i * ENTRY_SIZE);
	return h->size > (int64_t)head + 8 && h->size <= MEMBER_MAX ? HEAD_RIGHT : HEAD_WRONG;
}

static enum head_state header_read(struct head *h, const unsigned char *p, size_t n)
{
	unsigned char right[HEADER_SIZE];

	if (n < HEADER_SIZE)
		return HEAD_CUT;
	h->size = HEADER_SIZE;
	h->version = p[HEADER_VERSION];
	memcpy(h->file, p + HEADER_FILE, 16);
	header_write(h->file, right);
	right[HEADER_VERSION] = (unsigned char)h->version;
	put32(right + HEADER_CRC, crc(right, HEADER_CRC));
	return memcmp(right, p, HEADER_SIZE) ? HEAD_WRONG : HEAD_RIGHT;
}

static enum head_state footer_read(struct head *h, const unsigned char *p, size_t n)
{
	if (n < FOOTER_SIZE)
		return HEAD_CUT;
	h->size = FOOTER_SIZE;
	memcpy(h->file, p + FOOTER_FILE, 16);
	h->sequence = (int64_t)le64(p + FOOTER_SEQUENCE);
	h->length = (int64_t)le64(p + FOOTER_LENGTH);
	h->offset = (int64_t)le64(p + FOOTER_OFFSET);
	h->records = (int64_t)le64(p + FOOTER_RECORDS);
	h->time = (int64_t)le64(p + FOOTER_TIME);
	memcpy(h->hash, p + FOOTER_HASH, 32);
	if (le32(p + FOOTER_CRC) != crc(p, FOOTER_CRC) || memcmp(p + FOOTER_BODY, empty_body, sizeof empty_body))
		return HEAD_WRONG;
	return HEAD_RIGHT;
}

bool head_like(const unsigned char *p, size_t n)
{
	if (memcmp(p, gzip_head, n < sizeof gzip_head ? n : sizeof gzip_head))
		return false;
	if (n > AT_SUBFIELD && (p[AT_SUBFIELD] != 'P' || (n > AT_SUBFIELD + 1 && p[AT_SUBFIELD + 1] != 'L')))
		return false;
	return n <= AT_MAGIC || memcmp(p + AT_MAGIC, LEDGER_MAGIC, n < AT_MAGIC + 8 ? n - AT_MAGIC : 8) == 0;
}

enum head_state head_read(struct head *h, const unsigned char *p, size_t n, const char **why)
{
	static const char *const words[][2] = { { "the header is cut", "the header is damaged" }, { "the footer is cut", "the footer is damaged" }, { "the head is cut", "the head is damaged" } };
	enum head_state state = HEAD_CUT;
	int what = 2;

	h->type = HEAD_NONE;
	h->runs = 0;
	*why = "no member of a ledger";
	if (!head_like(p, n))
		return HEAD_WRONG;
	if (n > AT_TYPE) {
		h->type = p[AT_TYPE];
		what = h->type == HEAD_HEADER ? 0 : h->type == HEAD_FOOTER ? 1 : 2;
		switch (h->type) {
		case HEAD_HEADER: state = header_read(h, p, n); break;
		case HEAD_FOOTER: state = footer_read(h, p, n); break;
		case HEAD_DATA:
		case HEAD_STEPS: state = data_read(h, p, n); break;
		default: state = HEAD_WRONG; break;
		}
	}
	*why = state == HEAD_RIGHT ? NULL : words[what][state == HEAD_WRONG];
	return state;
}

size_t head_search(const unsigned char *p, size_t n, size_t from)
{
	while (from + AT_MAGIC < n) {
		const unsigned char *m = memmem(p + from + AT_MAGIC, n - from - AT_MAGIC, LEDGER_MAGIC, 8);
		size_t at;
		const char *why;
		struct head h;

		if (!m)
			return n;
		at = (size_t)(m - p) - AT_MAGIC;
		if (head_read(&h, p + at, n - at, &why) == HEAD_RIGHT)
			return at;
		from = at + 1;
	}
	return n;
}

void ledger_steps_add(struct ledger_steps *e, const struct view *v)
{
	double seconds;

	view_int(v, F_step_update, &e->last);
	if (e->count++ == 0)
		e->first = e->last;
	view_int(v, F_step_examples, &e->examples);
	if (view_num(v, F_step_seconds, &seconds))
		e->seconds += seconds;
	view_time(v, F_step_t, &e->t);
}
