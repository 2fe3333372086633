// SPDX-License-Identifier: GPL-2.0-only
/* MPI-IO: views, individual and shared pointers, collective and non-blocking calls. */
#include "mt.h"

int main(int argc, char **argv)
{
	char name[64], rep[MPI_MAX_DATAREP_STRING];
	int out[16], in[16], count, amode;
	MPI_Datatype type, etype, ftype;
	MPI_Offset size, at, disp;
	MPI_Request request;
	MPI_Group group;
	MPI_Status status;
	MPI_Info info;
	MPI_File file;

	mt_begin(&argc, &argv);
	snprintf(name, sizeof(name), "mt_files.%d", mt_size);
	for (int i = 0; i < 16; i++)
		out[i] = mt_rank * 100 + i;
	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR |
		      MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
	CHECK(file != MPI_FILE_NULL);
	MPI_File_set_size(file, 0);
	MPI_File_write_at_all(file, mt_rank * 64, out, 16, MPI_INT, &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 16);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_get_size(file, &size);
	CHECK(size == mt_size * 64);
	MPI_File_iread_at(file, RIGHT * 64, in, 16, MPI_INT, &request);
	MPI_Wait(&request, &status);
	CHECK(in[5] == RIGHT * 100 + 5);
	MPI_Type_vector(4, 1, mt_size, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_File_set_view(file, mt_rank * 4, MPI_INT, type, "native", MPI_INFO_NULL);
	MPI_File_get_view(file, &disp, &etype, &ftype, rep);
	CHECK(disp == mt_rank * 4 && etype == MPI_INT && !strcmp(rep, "native"));
	MPI_Type_free(&ftype);
	MPI_File_write_all(file, out, 4, MPI_INT, &status);
	MPI_File_get_position(file, &at);
	CHECK(at == 4);
	MPI_File_seek(file, 0, MPI_SEEK_SET);
	MPI_File_read_all(file, in, 4, MPI_INT, &status);
	CHECK(in[3] == out[3]);
	MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(file, 4 * RIGHT, in, 1, MPI_INT, &status);
	CHECK(in[0] == RIGHT * 100);
	MPI_File_get_group(file, &group);
	MPI_Group_size(group, &count);
	CHECK(count == mt_size);
	MPI_Group_free(&group);
	MPI_File_get_info(file, &info);
	MPI_Info_free(&info);
	MPI_File_get_amode(file, &amode);
	CHECK(amode & MPI_MODE_RDWR);
	mt_value((long)size + in[0]);
	MPI_File_close(&file);
	CHECK(file == MPI_FILE_NULL);
	MPI_Type_free(&type);
	return mt_end();
}
