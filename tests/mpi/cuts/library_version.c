// SPDX-License-Identifier: GPL-2.0-only
/*
 * What any thread may call at any time is called all the time by one that is never held, while another
 * lower half comes.
 */
#include "cut.h"

#include <pthread.h>
#include <stdbool.h>

static bool stop;
static long asked, wrong;

static void *ask(void *arg)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING], first[MPI_MAX_LIBRARY_VERSION_STRING];
	int len, first_len, keyval;

	MPI_Get_library_version(first, &first_len);	/* Open MPI counts the end, too */
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		MPI_Get_library_version(text, &len);
		wrong += strcmp(text, first) || len != first_len;
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval,
				       NULL);
		MPI_Comm_free_keyval(&keyval);
		asked++;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	setenv("MT_THREADS", "multiple", 1);
	mt_begin(&argc, &argv);
	pthread_create(&thread, NULL, ask, NULL);
	cut_await_all(2, 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(!wrong);
	return mt_end();
}
