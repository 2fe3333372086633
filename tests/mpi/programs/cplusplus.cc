// SPDX-License-Identifier: GPL-2.0-only
/*
 * C++: containers, exceptions thrown from an error handler's code, a template over types, an
 * operation made by the bindings that MPI-3 removed and both libraries still have.
 */
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "mt.h"

template <typename T> struct type_of;
template <> struct type_of<int> { static MPI_Datatype get() { return MPI_INT; } };
template <> struct type_of<double> { static MPI_Datatype get() { return MPI_DOUBLE; } };

static void must(int rc)
{
	if (rc != MPI_SUCCESS)
		throw std::runtime_error("MPI call failed");
}

class Communicator {
public:
	explicit Communicator(MPI_Comm from)
	{
		must(MPI_Comm_dup(from, &comm));
		must(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	}
	~Communicator() { MPI_Comm_free(&comm); }
	template <typename T> std::vector<T> ring(const std::vector<T> &out) const
	{
		std::vector<T> in(out.size());

		must(MPI_Sendrecv(out.data(), (int)out.size(), type_of<T>::get(), RIGHT, 1, in.data(),
				  (int)in.size(), type_of<T>::get(), LEFT, 1, comm, MPI_STATUS_IGNORE));
		return in;
	}
	MPI_Comm comm;
};

static void add(const void *in, void *io, int n, const MPI::Datatype &type)
{
	for (int i = 0; i < n; i++)
		static_cast<int *>(io)[i] += static_cast<const int *>(in)[i];
}

int main(int argc, char **argv)
{
	int part = 0, all = 0;
	MPI::Op op;
	std::map<std::string, std::vector<double>> kept;

	mt_begin(&argc, &argv);
	{
		Communicator world(MPI_COMM_WORLD);

		for (int round = 0; round < 10; round++) {
			std::vector<int> mine((size_t)(round + 3));
			bool thrown = false;

			std::iota(mine.begin(), mine.end(), mt_rank * 100 + round);
			std::vector<int> got = world.ring(mine);
			CHECK(got.front() == LEFT * 100 + round && got.back() == got.front() + round + 2);
			kept[std::to_string(round)] = world.ring(std::vector<double>(mine.begin(), mine.end()));
			CHECK(kept[std::to_string(round)].front() == LEFT * 100 + round);
			try {
				must(MPI_Send(nullptr, 0, MPI_INT, mt_size, 0, world.comm));
			} catch (const std::runtime_error &e) {
				thrown = true;
			}
			CHECK(thrown);
			mt_value((long)kept.begin()->second.back());
			if (!round)
				op.Init(add, true);
			part = mt_rank + round;
			MPI::COMM_WORLD.Allreduce(&part, &all, 1, MPI::INT, op);
			CHECK(all == mt_size * (mt_size - 1) / 2 + mt_size * round);
		}
	}
	op.Free();
	return mt_end();
}
