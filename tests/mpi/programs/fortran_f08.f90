! SPDX-License-Identifier: GPL-2.0-only
! use mpi_f08: types for handles, optional ierror, sentinels, a reduction of its own.
module own
  use mpi_f08
  implicit none
contains
  subroutine addup(a, b, n, dtype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: dtype
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    y = y + x
  end subroutine
end module

program fortran_f08
  use mpi_f08
  use own
  implicit none
  integer :: rank, nprocs, right, left, out(4), in(4), bad, total, i, mine, n
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: dtype
  type(MPI_Op) :: op

  bad = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  right = mod(rank + 1, nprocs)
  left = mod(rank + nprocs - 1, nprocs)
  out = [(rank * 10 + i, i = 1, 4)]
  call MPI_Irecv(in, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(out, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  if (in(4) /= left * 10 + 4) bad = bad + 1
  call mt_step()
  if (statuses(1)%MPI_SOURCE /= left) bad = bad + 1
  call mt_step()
  if (requests(1) /= MPI_REQUEST_NULL) bad = bad + 1
  call mt_step()
  mine = rank
  call MPI_Allreduce(MPI_IN_PLACE, mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (mine /= nprocs * (nprocs - 1) / 2) bad = bad + 1
  call mt_step()
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, comm)
  call MPI_Comm_size(comm, n)
  if (n /= (nprocs + 1 - mod(rank, 2)) / 2) bad = bad + 1
  call mt_step()
  call MPI_Op_create(addup, .true., op)
  mine = rank + 1
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (total /= nprocs * (nprocs + 1) / 2) bad = bad + 1
  call mt_step()
  call MPI_Op_free(op)
  call MPI_Type_contiguous(2, MPI_INTEGER, dtype)
  call MPI_Type_commit(dtype)
  call MPI_Sendrecv(out, 2, dtype, right, 2, in, 2, dtype, left, 2, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, dtype, n)
  if (n /= 2) bad = bad + 1
  call mt_step()
  call MPI_Type_free(dtype)
  call MPI_Comm_free(comm)
  if (comm /= MPI_COMM_NULL) bad = bad + 1
  call mt_step()
  call MPI_Recv(in, 1, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Allreduce(bad, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a)', nprocs, ' ranks, ', total, ' bad'
  call MPI_Finalize()
end program
