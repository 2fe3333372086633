// SPDX-License-Identifier: GPL-2.0-only
/*
 * The environment that Slurm's plugin makes for a task: PATH, and the functions of bash.
 *
 * The functions of Slurm that the plugin calls are here; the variables of the task are in a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLES	16

static char *variables[VARIABLES];	/* NAME=VALUE; NULL: free */
static char front[] = "/tmp/test_spank-XXXXXX";

/* ------------------------------------------------------------------ Slurm */

static char **variable_find(const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < VARIABLES; i++) {
		if (variables[i] && !strncmp(variables[i], name, len) && variables[i][len] == '=')
			return &variables[i];
	}
	return NULL;
}

static const char *variable(const char *name)
{
	char **found = variable_find(name);

	return found ? *found + strlen(name) + 1 : NULL;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buf, int len)
{
	const char *value = variable(name);

	if (!value)
		return ESPANK_ENV_NOEXIST;
	if (strlen(value) >= (size_t)len)
		return ESPANK_NOSPACE;
	strcpy(buf, value);
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	char **found = variable_find(name);

	if (found) {
		free(*found);
		*found = NULL;
	}
	return ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	size_t i, size = strlen(name) + strlen(value) + 2;

	if (variable(name) && !overwrite)
		return ESPANK_ENV_EXISTS;
	spank_unsetenv(spank, name);
	for (i = 0; variables[i]; i++)
		assert_true(i + 1 < VARIABLES);
	variables[i] = malloc(size);
	assert_non_null(variables[i]);
	snprintf(variables[i], size, "%s=%s", name, value);
	return ESPANK_SUCCESS;
}

const char *spank_strerror(spank_err_t err)
{
	return "no space";
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	return ESPANK_SUCCESS;
}

int spank_remote(spank_t spank)
{
	return 1;
}

/* A batch step. */
spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list args;

	if (item != S_JOB_STEPID)
		return ESPANK_ERROR;
	va_start(args, item);
	*va_arg(args, uint32_t *) = SLURM_BATCH_SCRIPT;
	va_end(args);
	return ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
}

/* ------------------------------------------------------------------ tests */

static int slurm_begins(void **state)
{
	char path[64], word[64];
	char *words[] = { word, (char *)"default=yes" };
	FILE *file;

	if (!mkdtemp(front))
		return -1;
	snprintf(word, sizeof(word), "front=%s", front);
	snprintf(path, sizeof(path), "%s/call", front);
	file = fopen(path, "w");
	if (!file || fputs("echo called \"$@\"\n", file) < 0 || fclose(file))
		return -1;
	return slurm_spank_init(NULL, 2, words);
}

static int slurm_ends(void **state)
{
	char path[64];
	size_t i;

	for (i = 0; i < VARIABLES; i++)
		free(variables[i]);
	snprintf(path, sizeof(path), "%s/call", front);
	return unlink(path) || rmdir(front);
}

static void task_begins(const char *path)
{
	if (path)
		spank_setenv(NULL, "PATH", path, 1);
	else
		spank_unsetenv(NULL, "PATH");
	assert_int_equal(slurm_spank_task_init(NULL, 0, NULL), 0);
}

static void test_path(void **state)
{
	char *path = malloc(100001), *want = malloc(100100);

	snprintf(want, 100100, "%s:/opt/mpi/bin:/usr/bin", front);
	task_begins("/opt/mpi/bin:/usr/bin");
	assert_string_equal(variable("PATH"), want);
	/* the task of a step that such a task starts */
	task_begins(want);
	assert_string_equal(variable("PATH"), want);
	/* a longer one than a file may have as its path */
	memset(path, 'x', 100000);
	path[100000] = '\0';
	snprintf(want, 100100, "%s:%s", front, path);
	task_begins(path);
	assert_string_equal(variable("PATH"), want);
	task_begins(NULL);
	snprintf(want, 100100, "%s:/usr/local/bin:/usr/bin:/bin", front);
	assert_string_equal(variable("PATH"), want);
	free(path);
	free(want);
}

/* The answer of bash, as a login shell in which a module has changed PATH. */
static void bash_says(const char *command, const char *want)
{
	char line[256], *argv[] = { (char *)"bash", (char *)"-l", (char *)"-c", NULL, NULL };
	int fds[2];
	ssize_t n;

	argv[3] = (char *)command;
	assert_int_equal(pipe(fds), 0);
	if (!fork()) {
		char *env[VARIABLES + 2] = { (char *)"HOME=/no/such" };
		size_t i, nr = 1;

		for (i = 0; i < VARIABLES; i++) {
			if (variables[i])
				env[nr++] = variables[i];
		}
		dup2(fds[1], 1);
		execve("/bin/bash", argv, env);
		_exit(127);
	}
	close(fds[1]);
	n = read(fds[0], line, sizeof(line) - 1);
	assert_true(n >= 0);
	line[n] = '\0';
	close(fds[0]);
	wait(NULL);
	assert_string_equal(line, want);
}

static void test_functions(void **state)
{
	static const char theirs[] = "() {  echo mine\n}";

	task_begins("/usr/bin:/bin");
	bash_says("PATH=/opt/mpi/bin:/usr/bin:/bin; mpirun -n 2 'a  b'",
		  "called mpirun -n 2 a  b\n");
	bash_says("PATH=/bin; srun x", "called srun x\n");
	/* a function of the user's own stays */
	spank_setenv(NULL, "BASH_FUNC_mpiexec%%", theirs, 1);
	task_begins("/usr/bin:/bin");
	assert_string_equal(variable("BASH_FUNC_mpiexec%%"), theirs);
	bash_says("mpiexec", "mine\n");
}

/* A script submits another one that wants no checkpoints, and hands its environment on. */
static void test_handed_on(void **state)
{
	char *words[] = { (char *)"default=no" };

	task_begins("/usr/bin:/bin");
	assert_non_null(variable("BASH_FUNC_mpirun%%"));
	assert_int_equal(slurm_spank_init(NULL, 1, words), 0);
	task_begins("/usr/bin:/bin");
	assert_null(variable("BASH_FUNC_mpirun%%"));
	assert_null(variable("STILLPOINT_CKPT"));
	assert_string_equal(variable("PATH"), "/usr/bin:/bin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_handed_on),
	};

	return cmocka_run_group_tests(tests, slurm_begins, slurm_ends);
}
