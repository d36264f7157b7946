/* data.c - examples of every kind: what is an input, what is a target, and who sees it. With arguments, a
 * tool for 313-data.bats: dump SPEC [LENGTH [VAL-LENGTH]] prints every example as the loss sees it. */
#include "tap.h"
#include "alloc.h"
#include "memfile.h"

#include "../../lib/train/train.h"

/* ---- a tool ---- */

static void print_field(const char *name, const struct buf *b)
{
	printf("\t%s=", name);
	for (size_t i = 0; i < b->n; i++)
		printf("%02x", b->p[i]);
}

static int print_example(const struct data *d, enum split s, int64_t i, struct batch *b, struct example_text *x, struct why *w)
{
	int r = data_fill(d, s, &i, 1, 0, b, w);

	if (r || (r = data_describe(d, s, i, x, w)))
		return r;
	printf("%s", split_name(s));
	print_field("id", &x->id);
	print_field("group", &x->group);
	print_field("text", &x->text);
	print_field("target", &x->target);
	printf("\tdeclared=%lld\t", (long long)data_declared(d, s, i));
	for (int64_t t = 0; t < b->length; t++)
		if (b->ids)
			printf("%d:%d ", b->ids[t], b->targets[t]);
		else
			printf("%.9g ", b->x[t]);
	if (b->x)
		printf("class %d", b->targets[0]);
	putchar('\n');
	return 0;
}

static int print_all(const struct data *d, struct why *w)
{
	const struct data_facts *f = data_facts(d);
	struct example_text x = { 0 };
	struct batch b;
	int r = batch_init(&b, 1, f->length, f->sequence);

	printf("facts\tclasses=%lld\tfeatures=%lld\tlength=%lld\tcount=%lld,%lld,%lld\tshared=%lld,%lld\n", (long long)f->classes, (long long)f->features, (long long)f->length,
	    (long long)f->count[0], (long long)f->count[1], (long long)f->count[2], (long long)f->shared_examples, (long long)f->shared_groups);
	printf("rule\t%s\n", f->rule);
	for (int i = 0; i < f->files; i++)
		printf("file\t%s\t%s\n", f->digest[i], f->provenance[i]);
	for (int i = 0; i < f->names; i++)
		printf("name\t%s\n", f->name[i]);
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < f->count[s] && !r; i++)
			r = print_example(d, s, i, &b, &x, w);
	batch_free(&b);
	example_text_free(&x);
	return r;
}

static int dump(int argc, char **argv)
{
	struct why w = { 0 };
	struct data *d;
	int r = data_open(&d, argv[2], argc > 3 ? atoll(argv[3]) : 0, 1, &w);

	if (!r)
		r = data_cut(d, argc > 4 ? atoll(argv[4]) : 0, &w);
	if (!r)
		r = print_all(d, &w);
	if (r)
		printf("%d %s\n", r, w.text);
	data_close(d);
	return -r;
}

/* ---- checks ---- */

#define FILE_OF(text) memfile(text, sizeof(text) - 1)

static struct data *opened(const char *spec, int64_t length)
{
	struct why w = { 0 };
	struct data *d;

	if (data_open(&d, spec, length, 1, &w))
		ok(false, "%s: %s", spec, w.text);
	return d;
}

/* "12+7=19": three numbers and where the answer begins; false if it is no sum. */
static bool parse_sum(const char *s, long long *a, long long *b, long long *c, int *answer)
{
	int end = 0;

	return sscanf(s, "%lld+%lld=%n%lld%n", a, b, answer, c, &end) == 3 && !s[end];
}

/* Every example is a sum, right, masked to its answer and end mark; every ordered pair stands in one
 * example; every unordered pair in one split. */
static void sums(int digits)
{
	char spec[40];
	long long n = digits == 1 ? 10 : 100, a, b, c;
	struct data *d;
	struct batch x;
	struct why w = { 0 };
	unsigned char *seen = calloc((size_t)(n * n), 1);
	int wrong = 0, answer = 0;

	snprintf(spec, sizeof spec, "sums:digits=%d", digits);
	if (!(d = opened(spec, 0)) || batch_init(&x, 1, data_facts(d)->length, true))
		return;
	for (enum split s = 0; s < SPLITS; s++)
		for (int64_t i = 0; i < data_facts(d)->count[s]; i++) {
			struct buf text = { 0 };
			if (data_fill(d, s, &i, 1, 0, &x, &w) || data_decode(d, x.ids, x.lengths[0], &text) || buf_add(&text, "", 1))
				wrong++;
			else if (!parse_sum((char *)text.p, &a, &b, &c, &answer) || a + b != c || a >= n || b >= n || seen[a * n + b])
				wrong++;
			else
				seen[a * n + b] = (unsigned char)(1 + s);
			for (int64_t t = 0; t < x.length; t++) {
				bool last = t == x.length - 1;
				wrong += t + 1 < answer ? x.targets[t] != -1 : last ? x.targets[t] != 1 : x.targets[t] != x.ids[t + 1];
			}
			wrong += x.supervised != data_declared(d, s, i) || x.supervised != x.length - answer + 1;
			buf_free(&text);
		}
	is_int(wrong, 0, spec);
	for (long long i = 0; i < n * n; i++)
		wrong += !seen[i] || seen[i] != seen[i % n * n + i / n];
	is_int(wrong, 0, "every pair of operands once, both orders in one split");
	is_int(data_facts(d)->shared_examples, 0, "and so it was counted");
	batch_free(&x);
	data_close(d);
	free(seen);
}

static void sums_facts(void)
{
	struct data *d = opened("sums", 0), *other, *large = opened("sums:digits=6", 0);
	struct why w = { 0 };
	const struct data_facts *f;

	if (!d || !large)
		return;
	f = data_facts(d);
	ok(f->count[TRAIN] == 8000 && f->count[VALIDATION] == 1000 && f->count[TEST] == 1000, "10,000 pairs, a tenth each to validation and test");
	ok(f->classes == 14 && f->length == 9 && f->answers && f->sequence, "14 symbols, 9 positions (99+99=198)");
	ok(f->files == 1 && strlen(f->digest[0]) == 71, "a digest, though there is no file");
	if (data_open(&other, "sums", 0, 2, &w))
		return (void)ok(false, "another seed: %s", w.text);
	is_str(data_facts(other)->digest[0], f->digest[0], "the run's seed does not change the splits");
	data_close(other);
	if ((other = opened("sums:val=0.2", 0)))
		ok(strcmp(data_facts(other)->digest[0], f->digest[0]) != 0, "another share does");
	data_close(other);
	ok(data_facts(large)->shared_examples == -1, "where there are too many to count, none is claimed");
	is_int(data_facts(large)->count[TRAIN] + data_facts(large)->count[VALIDATION] + data_facts(large)->count[TEST], 1000000000000, "10^12 examples");
	for (enum split s = 0; s < SPLITS; s++)
		is_int(data_example_length(d, s, data_longest(d, s)), 9, "the longest example is among the longest");
	data_close(d);
	data_close(large);
}

/* Row i of the batch is example i alone, and padding behind it. */
static void batches(void)
{
	struct data *d = opened("sums", 0);
	int64_t index[64];
	struct batch all, one;
	struct why w = { 0 };
	int wrong = 0, padded = 0;
	int64_t supervised = 0, tokens = 0, most = 0;

	if (!d || batch_init(&all, 64, 9, true) || batch_init(&one, 1, 9, true))
		return;
	for (int64_t i = 0; i < 64; i++)
		index[i] = 7930 + i; /* the end of the split: pairs a = a, some short */
	memset(all.ids, 0x55, 64 * 9 * sizeof *all.ids);
	memset(all.targets, 0x55, 64 * 9 * sizeof *all.targets);
	is_int(data_fill(d, TRAIN, index, 64, 0, &all, &w), 0, "64 examples");
	for (int64_t i = 0; i < 64; i++) {
		if (data_fill(d, TRAIN, &index[i], 1, 0, &one, &w))
			wrong++;
		wrong += all.lengths[i] != one.length || all.index[i] != index[i];
		wrong += memcmp(all.ids + i * all.length, one.ids, (size_t)one.length * sizeof *one.ids) || memcmp(all.targets + i * all.length, one.targets, (size_t)one.length * sizeof *one.targets);
		for (int64_t t = one.length; t < all.length; t++, padded++)
			wrong += all.ids[i * all.length + t] != 0 || all.targets[i * all.length + t] != -1;
		most = one.length > most ? one.length : most;
		supervised += one.supervised;
		tokens += one.tokens;
	}
	is_int(wrong, 0, "each row is its example, then padding that the loss does not see");
	ok(padded > 0, "some are padded");
	is_int(all.length, most, "no wider than the longest row");
	ok(all.supervised == supervised && all.tokens == tokens, "counts are sums over the rows");
	is_int(data_fill(d, TRAIN, index, 64, 5, &all, &w), -EX_DATAERR, "a longer example than asked for is refused, not cut");
	index[3] = 8000;
	is_int(data_fill(d, TRAIN, index, 64, 0, &all, &w), -EX_SOFTWARE, "as is an example that there is not");
	is_int(all.rows, 0, "and the batch is empty then");
	batch_free(&all);
	batch_free(&one);
	data_close(d);
}

static void prompts(void)
{
	struct data *d = opened("sums", 0);
	struct memfile m = FILE_OF("0123456789abcdefghijklmnopqrstuv");
	char spec[80];
	int32_t ids[10], end = -1;
	struct buf text = { 0 };
	int64_t n;

	if (!d)
		return;
	n = data_prompt(d, TEST, data_longest(d, TEST), ids, 10, &end);
	ok(n == 6 && end == 1 && ids[9] == end, "a prompt, its answer and the end mark");
	ok(!data_decode(d, ids, 10, &text) && text.n == 10 && text.p[5] == '=' && text.p[9] == '$', "readable");
	is_int(data_prompt(d, TEST, data_longest(d, TEST), ids, 5, &end), -1, "no room for the prompt");
	is_int(data_prompt(d, TEST, 1000, ids, 10, &end), -1, "no such example");
	data_close(d);
	snprintf(spec, sizeof spec, "text:file=%s,val=0.2,test=0.2", m.path);
	if ((d = opened(spec, 4)))
		is_int(data_prompt(d, TRAIN, 0, ids, 10, &end), -1, "text has no answers");
	data_close(d);
	buf_free(&text);
	memfile_close(&m);
}

/* Every byte but a split's first is a target exactly once, and its input is the byte before it. */
static void covered(struct data *d, const unsigned char *text, int64_t size, const char *what)
{
	int64_t total = 0, position = 0;
	struct batch b;
	struct why w = { 0 };
	int wrong = 0;

	if (batch_init(&b, 1, data_facts(d)->length, true))
		return;
	for (enum split s = 0; s < SPLITS; s++) {
		for (int64_t i = 0; i < data_facts(d)->count[s]; i++) {
			if (data_fill(d, s, &i, 1, 0, &b, &w))
				wrong++;
			for (int64_t t = 0; t < b.length; t++, position++)
				wrong += b.ids[t] != text[position] || b.targets[t] != text[position + 1];
			total += b.supervised;
		}
		position++; /* the last byte is no input: what follows it is another split's */
	}
	ok(wrong == 0 && position == size && total == size - SPLITS, "%s: %lld targets of %lld bytes, each once, in place", what, (long long)total, (long long)size);
	batch_free(&b);
}

static void text(void)
{
	unsigned char all[1000];
	char spec[80], what[80];
	struct memfile m;
	struct why w = { 0 };

	for (int i = 0; i < 1000; i++)
		all[i] = (unsigned char)(i * 7 + i / 256); /* neighbours differ */
	for (int n = 60; n <= 1000; n += 47) {
		m = memfile(all, (size_t)n);
		snprintf(spec, sizeof spec, "text:file=%s,val=0.1,test=0.2", m.path);
		for (int64_t length = 1; length <= 64; length += 9) {
			struct data *d = opened(spec, length);
			if (!d)
				break;
			snprintf(what, sizeof what, "%d bytes in windows of %lld", n, (long long)length);
			covered(d, all, n, what);
			if (data_cut(d, length / 2 + 1, &w))
				ok(false, "cut: %s", w.text);
			covered(d, all, n, "with a validation length of its own");
			is_int(data_facts(d)->shared_examples, 0, "no window of two splits");
			data_close(d);
		}
		memfile_close(&m);
	}
}

static void tokens(void)
{
	const unsigned char p[] = "\1\0\2\0\3\0\xff\xff\4\0\5\0\6\0\7\0";
	struct memfile m = memfile(p, 16);
	char spec[200];
	struct data *d;
	struct batch b;
	struct why w = { 0 };
	int64_t zero = 0;

	snprintf(spec, sizeof spec, "tokens:file=%s,val=0,test=0", m.path);
	if (!(d = opened(spec, 7)) || batch_init(&b, 1, 7, true))
		return;
	ok(data_facts(d)->classes == 65536 && data_facts(d)->count[TRAIN] == 1 && data_facts(d)->count[TEST] == 0, "vocabulary found, no shares asked for");
	is_int(data_fill(d, TRAIN, &zero, 1, 0, &b, &w), 0, "one window");
	ok(b.ids[2] == 3 && b.targets[2] == 65535 && b.ids[3] == 65535 && b.targets[6] == 7, "little-endian, unsigned");
	data_close(d);
	snprintf(spec, sizeof spec, "tokens:file=%s,val=0,test=0,vocab=100", m.path);
	if (!(d = opened(spec, 7)))
		return;
	is_int(data_fill(d, TRAIN, &zero, 1, 0, &b, &w), -EX_DATAERR, "a token beyond a named vocabulary");
	has_str(w.text, "token 3 of the train split's file is 65535, the vocabulary has 100", "is named by its place");
	data_close(d);
	snprintf(spec, sizeof spec, "tokens:file=%s,val-file=%s", m.path, m.path);
	if ((d = opened(spec, 3)))
		ok(data_facts(d)->shared_examples > 0 && data_facts(d)->count[TEST] == 0, "the training file again for validation is noticed");
	data_close(d);
	batch_free(&b);
	memfile_close(&m);
}

static void csv(void)
{
	char text[20000] = "h,x,y,kind\n", spec[120];
	struct memfile m;
	struct data *d;
	struct batch b;
	double sum = 0, squares = 0;
	int64_t n = 0;
	struct why w = { 0 };

	/* 40 households of 1 to 5 rows; every 7th row repeats another household's features. */
	for (int i = 0, row = 0; i < 40; i++)
		for (int k = 0; k <= i % 5; k++, row++)
			sprintf(text + strlen(text), "h%d,%d,%d,%s\n", i, row % 7 ? row : 3, row % 7 ? row * row % 11 : 5, row % 3 ? "b" : "a");
	m = memfile(text, strlen(text));
	snprintf(spec, sizeof spec, "csv:file=%s,class=kind,group=h,val=0.2,test=0.2", m.path);
	if (!(d = opened(spec, 0)) || batch_init(&b, 1, 2, false))
		return;
	ok(data_facts(d)->features == 2 && data_facts(d)->classes == 2 && data_facts(d)->count[0] + data_facts(d)->count[1] + data_facts(d)->count[2] == 120, "120 rows of 2 features");
	ok(data_facts(d)->shared_groups == 0 && data_facts(d)->shared_examples == 0, "households and equal rows on one side");
	ok(data_facts(d)->names == 2 && !strcmp(data_facts(d)->name[0], "a") && !strcmp(data_facts(d)->name[1], "b"), "class names, sorted");
	for (int64_t i = 0; i < data_facts(d)->count[TRAIN]; i++, n++) {
		if (data_fill(d, TRAIN, &i, 1, 0, &b, &w))
			ok(false, "fill: %s", w.text);
		sum += b.x[0];
		squares += (double)b.x[0] * b.x[0];
	}
	is_near(sum / (double)n, 0, 1e-6, "training features have mean 0");
	is_near(squares / (double)n, 1, 1e-6, "and variance 1");
	batch_free(&b);
	data_close(d);
	memfile_close(&m);
}

/* spec with %s for the file that holds `text`. */
static void refuses(const char *text, size_t n, const char *spec, int code, const char *reason)
{
	struct memfile m = memfile(text, n);
	char full[300];
	struct why w = { 0 };
	struct data *d;

	snprintf(full, sizeof full, spec, m.path, m.path);
	is_int(data_open(&d, full, 0, 1, &w), -code, full);
	has_str(w.text, reason, "its reason");
	ok(d == NULL, "nothing is left open");
	memfile_close(&m);
}
#define REFUSES(text, spec, code, reason) refuses(text, sizeof(text) - 1, spec, code, reason)

static void faults(void)
{
	REFUSES("", "jsonl:file=%s", EX_UNAVAILABLE, "jsonl: not in this version");
	REFUSES("", "parquet:file=%s", EX_USAGE, "parquet: no such kind");
	REFUSES("", "sums:digits=0", EX_USAGE, "digits");
	REFUSES("", "sums:digits=7", EX_USAGE, "digits");
	REFUSES("", "sums:digit=2", EX_USAGE, "unknown key \"digit\"");
	REFUSES("", "sums:val=0.5,test=0.5", EX_USAGE, "leave less than a tenth");
	REFUSES("", "sums:val=nan", EX_USAGE, "val");
	REFUSES("", "text", EX_USAGE, "text: file=.. is missing");
	REFUSES("short", "text:file=%s", EX_DATAERR, "5 bytes: too short");
	REFUSES("0123456789abcdefghi", "text:file=%s", EX_DATAERR, "the validation split would have 1 byte");
	REFUSES("", "text:file=/nowhere/x", EX_NOINPUT, "/nowhere/x");
	REFUSES("", "text:file=/tmp", EX_NOINPUT, "directory");
	REFUSES("abc", "tokens:file=%s", EX_DATAERR, "3 bytes: odd");
	REFUSES("ab", "tokens:file=%s", EX_DATAERR, "1 tokens");
	REFUSES("abcdefgh", "tokens:file=%s,val=0.1,val-file=%s", EX_USAGE, "val with val-file");
	REFUSES("abcdefgh", "tokens:file=%s,vocab=65537", EX_USAGE, "vocab");
	REFUSES("", "idx:images=%s", EX_USAGE, "labels=.. is missing");
	REFUSES("\0\0\x08\1\0\0\0\1a", "idx:images=%s,labels=%s", EX_DATAERR, "these are no images");
	REFUSES("\0\0\x08\2\0\0\0\1\0\0\0\1a", "idx:images=%s,labels=%s", EX_DATAERR, "labels have one");
	REFUSES("", "idx:images=%s,labels=%s,test-images=x", EX_USAGE, "test-labels=.. is missing");
	REFUSES("a,b\n1,x\n", "csv:file=%s", EX_USAGE, "class=.. is missing");
	REFUSES("a,b\n1,x\n", "csv:file=%s,class=c", EX_USAGE, "class: the table has no column \"c\"");
	REFUSES("a,b\n1,x\n", "csv:file=%s,class=b,group=b", EX_USAGE, "group: column \"b\" is the class");
	REFUSES("a,b\n1,x\n", "csv:file=%s,class=b,features=b", EX_USAGE, "features: column \"b\"");
	REFUSES("a,b\n1,x\n", "csv:file=%s,class=b,ignore=a", EX_USAGE, "no column is left");
	REFUSES("a,b\n1,x\n2,x\n", "csv:file=%s,class=b", EX_DATAERR, "all rows are of one class");
	REFUSES("a,b\n1,x\n,y\n", "csv:file=%s,class=b", EX_DATAERR, "line 3, column \"a\": \"\": is empty");
	REFUSES("a,b\n1,x\n2\x1b,y\n", "csv:file=%s,class=b", EX_DATAERR, "line 3, column \"a\": \"2\\x1b\": is no number");
	REFUSES("a,b\n1,x\nnan,y\n", "csv:file=%s,class=b", EX_DATAERR, "line 3, column \"a\": \"nan\"");
	REFUSES("a,b\n1,x\n1e300,y\n", "csv:file=%s,class=b", EX_DATAERR, "line 3, column \"a\": \"1e300\"");
	REFUSES("a,b\n1,\n", "csv:file=%s,class=b", EX_DATAERR, "line 2, column \"b\": \"\": is empty: no class");
	REFUSES("a,b\n", "csv:file=%s,class=b", EX_DATAERR, "no rows");
	REFUSES("a,b\n1,x\n1,y\n1,x\n", "csv:file=%s,class=b", EX_DATAERR, "1 groups of rows that stay together: too few");
}

static void lengths(void)
{
	struct memfile m = FILE_OF("a,b\n1,x\n2,y\n3,x\n4,y\n5,x\n6,x\n7,x\n8,x\n9,y\n10,y\n");
	char spec[80];
	struct data *d;
	struct why w = { 0 };

	is_int(data_open(&d, "sums", 8, 1, &w), -EX_USAGE, "sums cannot be cut");
	has_str(w.text, "--length 8: sums: the longest example has 9 positions", "its reason");
	if ((d = opened("sums", 64)))
		is_int(data_facts(d)->length, 9, "a longer --length than the data has leaves it as it is");
	is_int(data_cut(d, 8, &w), -EX_USAGE, "nor for validation");
	has_str(w.text, "--val-length 8", "by name");
	is_int(data_cut(d, 9, &w), 0, "what fits is no change");
	data_close(d);
	snprintf(spec, sizeof spec, "csv:file=%s,class=b", m.path);
	is_int(data_open(&d, spec, 2, 1, &w), -EX_USAGE, "rows of features have their length");
	if ((d = opened(spec, 1)))
		is_int(data_facts(d)->length, 1, "which may be named");
	data_close(d);
	memfile_close(&m);
}

/* Opens, fills, describes, closes. */
static int in_little_memory(void *spec)
{
	const int64_t zero = 0;
	struct example_text x = { 0 };
	struct data *d;
	struct batch b;
	int r = data_open(&d, spec, 0, 1, NULL);

	if (r)
		return r;
	if (!(r = batch_init(&b, 1, data_facts(d)->length, data_facts(d)->sequence))) {
		if (!(r = data_fill(d, TRAIN, &zero, 1, 0, &b, NULL)))
			r = data_describe(d, TRAIN, 0, &x, NULL);
		batch_free(&b);
	}
	example_text_free(&x);
	data_close(d);
	return r;
}

static void little_memory(void)
{
	struct memfile text_file = FILE_OF("0123456789abcdefghijklmnopqrstuv0123456789abcdefghijklmnopqrstuv");
	struct memfile table = FILE_OF("a,b,g\n1,x,1\n2,y,2\n3,x,3\n4,y,4\n5,x,5\n6,x,6\n");
	struct memfile images = FILE_OF("\0\0\x08\2\0\0\0\4\0\0\0\1abcd"), labels = FILE_OF("\0\0\x08\1\0\0\0\4\0\1\1\0"), names = FILE_OF("no\nyes\n");
	char spec[200], sums_spec[] = "sums:digits=1";

	alloc_each_optional("sums", in_little_memory, sums_spec);
	snprintf(spec, sizeof spec, "text:file=%s", text_file.path);
	alloc_each_optional("text", in_little_memory, spec);
	snprintf(spec, sizeof spec, "tokens:file=%s", text_file.path);
	alloc_each_optional("tokens", in_little_memory, spec);
	snprintf(spec, sizeof spec, "csv:file=%s,class=b,group=g", table.path);
	alloc_each_optional("csv", in_little_memory, spec);
	snprintf(spec, sizeof spec, "idx:images=%s,labels=%s,val=1,names=%s,normalise=meanstd", images.path, labels.path, names.path);
	alloc_each_optional("idx", in_little_memory, spec);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "dump"))
		return dump(argc, argv);
	sums(1);
	sums(2);
	sums_facts();
	batches();
	prompts();
	text();
	tokens();
	csv();
	faults();
	lengths();
	little_memory();
	return done_testing();
}
