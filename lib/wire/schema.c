/* schema.c - the one list, as tables: kinds, their fields, and how to find them by name. */
#include "inner.h"

/* Before each kind the number of its first field is taken down; BACK_ keeps the count going. */
enum {
	BEGIN_NONE,
#define KIND(name, doc) FIRST_##name, BACK_##name = FIRST_##name - 1,
#define FIELD(kind, name, type, need, doc) PLACE_##kind##_##name,
#include "records.list"
	FIRST_END,
};

static const struct kind_info {
	const char *name;
	const char *doc;
	uint8_t length; /* of the name */
	uint16_t first;
} kinds[KINDS + 1] = {
	[KIND_UNKNOWN] = {"unknown", "a kind that is not in the list", 7, FIRST_tool},
#define KIND(name, doc) [KIND_##name] = {#name, doc, sizeof #name - 1, FIRST_##name},
#define FIELD(kind, name, type, need, doc)
#include "records.list"
	[KINDS] = {"", "", 0, FIRST_END},
};

const struct field_info schema_fields[FIELDS] = {
	[F_NONE] = {KIND_UNKNOWN, "", T_INT, MAY, ""},
#define KIND(name, doc)
#define FIELD(kind, name, type, need, doc) [F_##kind##_##name] = {KIND_##kind, #name, type, need, doc},
#include "records.list"
};

const uint8_t schema_needs[FIELDS] = {
#define KIND(name, doc)
#define FIELD(kind, name, type, need, doc) [F_##kind##_##name] = need,
#include "records.list"
};

const uint8_t schema_lengths[FIELDS] = {
#define KIND(name, doc)
#define FIELD(kind, name, type, need, doc) [F_##kind##_##name] = sizeof #name - 1,
#include "records.list"
};

_Static_assert((int)FIRST_END == (int)FIELDS, "FIRST_ and F_ count alike");

/* No kind has more fields than a view has places. */
#define KIND(name, doc)
#define FIELD(kind, name, type, need, doc) \
	_Static_assert((int)F_##kind##_##name - (int)FIRST_##kind < VIEW_FIELDS, "VIEW_FIELDS is too small");
#include "records.list"

const struct field_info *field_info(enum field f)
{
	return &schema_fields[(unsigned)f < FIELDS ? f : F_NONE];
}

const char *kind_name(enum kind k)
{
	return kinds[(unsigned)k < KINDS ? k : KIND_UNKNOWN].name;
}

const char *kind_doc(enum kind k)
{
	return kinds[(unsigned)k < KINDS ? k : KIND_UNKNOWN].doc;
}

const char *type_name(enum type t)
{
	static const char *const names[] = {
		[T_INT] = "integer", [T_NUM] = "number", [T_STR] = "string", [T_BOOL] = "boolean",
		[T_TIME] = "time", [T_STRS] = "strings", [T_INTS] = "integers", [T_NUMS] = "numbers",
	};
	return names[t];
}

enum field kind_first(enum kind k)
{
	return (enum field)kinds[k].first;
}

int kind_fields(enum kind k)
{
	return k == KIND_UNKNOWN ? 0 : kinds[k + 1].first - kinds[k].first;
}

enum kind kind_find(const char *name, size_t n)
{
	for (int k = KIND_UNKNOWN + 1; k < KINDS; k++)
		if (kinds[k].length == n && memcmp(kinds[k].name, name, n) == 0)
			return (enum kind)k;
	return KIND_UNKNOWN;
}

enum field field_find(enum kind k, const char *name, size_t n)
{
	int first = kind_first(k), end = first + kind_fields(k);
	for (int f = first; f < end; f++)
		if (schema_lengths[f] == n && memcmp(schema_fields[f].name, name, n) == 0)
			return (enum field)f;
	return F_NONE;
}
