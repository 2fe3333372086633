// SPDX-License-Identifier: GPL-2.0-only
/*
 * C++: containers, exceptions thrown from an error handler's code, a template over types, an
 * operation made by the bindings that MPI-3 removed and both libraries still have. Of MPICH's,
 * errors as exceptions and handlers written in C++, too.
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

#ifdef MPICH_NAME
static int handled;

static void comm_handler(MPI::Comm &comm, int *code, ...)
{
	handled++;
	CHECK(MPI::Get_error_class(*code) == MPI::ERR_RANK && comm.Get_size() == mt_size);
}

static void win_handler(MPI::Win &, int *code, ...)
{
	handled += 10;
	CHECK(MPI::Get_error_class(*code) == MPI::ERR_RANK);
}

static void file_handler(MPI::File &file, int *, ...)
{
	handled += 100;
	CHECK(file.Get_amode() & MPI::MODE_RDWR);
}

/* The class of the error that @call threw; 0: none. */
template <typename F> static int thrown(F call)
{
	try {
		call();
	} catch (MPI::Exception &e) {
		return e.Get_error_class();
	}
	return 0;
}

static void handlers()
{
	MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
	std::string name = "cplusplus." + std::to_string(mt_rank);
	MPI::Errhandler of_comm = MPI::Comm::Create_errhandler(comm_handler);
	MPI::Errhandler of_win = MPI::Win::Create_errhandler(win_handler);
	MPI::Errhandler of_file = MPI::File::Create_errhandler(file_handler);
	int cell = 0;
	MPI::Win win = MPI::Win::Create(&cell, sizeof(cell), sizeof(cell), MPI::INFO_NULL, comm);
	MPI::File file = MPI::File::Open(MPI::COMM_SELF, name.c_str(), MPI::MODE_RDWR | MPI::MODE_CREATE |
					 MPI::MODE_DELETE_ON_CLOSE, MPI::INFO_NULL);
	auto send = [&] { comm.Send(&cell, 1, MPI::INT, mt_size, 0); };
	auto put = [&] { win.Put(&cell, 1, MPI::INT, mt_size, 0, 1, MPI::INT); };
	auto read = [&] { file.Read_at(-5, &cell, 1, MPI::INT); };

	win.Fence(0);
	comm.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
	win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
	file.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
	step();
	CHECK(thrown(send) == MPI::ERR_RANK);
	CHECK(thrown(put) == MPI::ERR_RANK);
	CHECK(thrown(read));
	comm.Set_errhandler(of_comm);
	win.Set_errhandler(of_win);
	file.Set_errhandler(of_file);
	step();
	CHECK(!thrown(send) && !thrown(put) && !thrown(read));
	CHECK(handled == 111);
	mt_value(handled);
	win.Fence(0);
	file.Close();
	win.Free();
	of_comm.Free();
	of_win.Free();
	of_file.Free();
	comm.Free();
}
#else
static void handlers() { }
#endif

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
	handlers();
	return mt_end();
}
