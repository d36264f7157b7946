/* checkpoint_names.c - which files of a folder are checkpoints, their order, and the newest complete one. */
#include "../../lib/train/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static void names(void)
{
	is_int(checkpoint_name_update("update-000000010.safetensors"), 10, "ten");
	is_int(checkpoint_name_update("update-000000000.safetensors"), 0, "none yet");
	is_int(checkpoint_name_update("update-1234567890.safetensors"), 1234567890, "more digits than nine");
	is_int(checkpoint_name_update("update-10.safetensors"), -1, "too few digits");
	is_int(checkpoint_name_update("update-00000001x.safetensors"), -1, "a letter among them");
	is_int(checkpoint_name_update(".update-000000010.safetensors.01ARZ.tmp"), -1, "a temporary file");
	is_int(checkpoint_name_update("update-000000010.safetensors.bak"), -1, "a copy");
	is_int(checkpoint_name_update("update-9999999999999999999999.safetensors"), -1, "more than 64 bits hold");
	is_int(checkpoint_name_update(""), -1, "nothing");
}

static void touch(const char *dir, const char *name)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if ((f = fopen(path, "w")) != NULL)
		fclose(f);
}

static void folder(void)
{
	char dir[] = "/tmp/checkpoint_names.XXXXXX", path[600];
	struct why w = { 0 };
	int64_t *list = NULL;

	if (!mkdtemp(dir)) {
		skip("a folder", "cannot make one");
		return;
	}
	is_int(checkpoint_find(dir, path, sizeof path, &w), -EX_NOINPUT, "an empty folder");
	has_str(w.text, dir, "its name is told");
	touch(dir, "update-000000009.safetensors");
	touch(dir, "update-1000000000.safetensors");
	touch(dir, "update-000000100.safetensors");
	touch(dir, "notes.txt");
	is_int(checkpoint_list(dir, &list, &w), 3, "three checkpoints");
	ok(list && list[0] == 1000000000 && list[1] == 100 && list[2] == 9, "newest first, by number and not by letters");
	free(list);
	is_int(checkpoint_find(dir, path, sizeof path, &w), -EX_DATAERR, "all of them torn");
	has_str(w.text, "update-1000000000", "the newest is told");
	checkpoint_prune(dir, 1);
	is_int(checkpoint_list(dir, &list, &w), 1, "pruned to one");
	ok(list && list[0] == 1000000000, "the newest stays");
	free(list);
	is_int(checkpoint_list("/nowhere", &list, &w), -EX_NOINPUT, "no such folder");
	snprintf(path, sizeof path, "rm -rf '%s'", dir);
	ok(system(path) == 0, "cleaned");
}

int main(void)
{
	names();
	folder();
	return done_testing();
}
