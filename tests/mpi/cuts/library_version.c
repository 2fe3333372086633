// SPDX-License-Identifier: GPL-2.0-only
/*
 * What any thread may call at any time is called all the time by one that is never held, while
 * another lower half comes; for two cuts, or ASKED_CUTS.
 */
#include "cut.h"

#include <pthread.h>
#include <stdbool.h>

static bool stop;
static long asked, wrong;

static void *ask(void *arg)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING], first[MPI_MAX_LIBRARY_VERSION_STRING];
	int len, first_len, keyval, kept, flag;
	void *got;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, kept, &asked);
	MPI_Comm_set_attr(MPI_COMM_SELF, kept, &wrong);
	MPI_Get_library_version(first, &first_len);	/* Open MPI counts the end, too */
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		MPI_Get_library_version(text, &len);
		wrong += strcmp(text, first) || len != first_len;
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval,
				       NULL);
		MPI_Comm_free_keyval(&keyval);
		/*
		 * Open MPI's handle is a symbol of ours, which leads to what is kept of the
		 * communicator
		 */
		got = NULL;
		wrong += MPI_Comm_get_attr(MPI_COMM_WORLD, kept, &got, &flag) || !flag ||
			 got != &asked;
		wrong += MPI_Comm_get_attr(MPI_COMM_SELF, kept, &got, &flag) || !flag ||
			 got != &wrong;
		asked++;
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *cuts = getenv("ASKED_CUTS");
	pthread_t thread;

	setenv("MT_THREADS", "multiple", 1);
	mt_begin(&argc, &argv);
	pthread_create(&thread, NULL, ask, NULL);
	cut_await_all(cuts ? strtoul(cuts, NULL, 10) : 2, 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(!wrong);
	return mt_end();
}
