! SPDX-License-Identifier: GPL-2.0-only
! use mpi: new groups by every constructor, MPI_Alltoallw and its non-blocking form, a file that is
! not there, parametrised types.
program fortran_objects
  use mpi
  implicit none
  integer :: ierr, rank, nprocs, bad, total
  external :: mt_step

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  bad = 0
  call groups()
  call everybody()
  call no_file()
  call parametrised()
  call MPI_Allreduce(bad, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0, a, i0, a)', nprocs, ' ranks, ', total, ' bad'
  call MPI_Finalize(ierr)
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what

    call mt_step()
    if (good) return
    bad = bad + 1
    print '(i0, 3a)', rank, ': ', what, ' is bad'
  end subroutine

  subroutine has_size(group, expected, what)
    integer, intent(in out) :: group
    integer, intent(in) :: expected
    character(len=*), intent(in) :: what
    integer :: n

    call check(group /= MPI_GROUP_NULL, what // ' as it was made')
    call MPI_Group_size(group, n, ierr)
    call check(n == expected, what)
    call MPI_Group_free(group, ierr)
  end subroutine

  subroutine groups()
    integer :: world, one, new, comm, first(1), range(3, 1), n

    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    first = 0
    range(:, 1) = [1, nprocs - 1, 1]
    call MPI_Group_incl(world, 1, first, one, ierr)
    call check(one /= MPI_GROUP_NULL, 'incl')
    call MPI_Group_excl(world, 1, first, new, ierr)
    call has_size(new, nprocs - 1, 'excl')
    call MPI_Group_range_excl(world, 1, range, new, ierr)
    call has_size(new, 1, 'range_excl')
    call MPI_Group_union(one, world, new, ierr)
    call has_size(new, nprocs, 'union')
    call MPI_Group_intersection(world, one, new, ierr)
    call has_size(new, 1, 'intersection')
    call MPI_Group_difference(world, one, new, ierr)
    call has_size(new, nprocs - 1, 'difference')
    call MPI_Group_difference(one, world, new, ierr)
    call check(new == MPI_GROUP_EMPTY, 'the empty group')
    call MPI_Group_range_incl(world, 1, range, new, ierr)
    call MPI_Comm_create(MPI_COMM_WORLD, new, comm, ierr)
    if (rank > 0) then
      call MPI_Comm_size(comm, n, ierr)
      call check(n == nprocs - 1, 'communicator of a group')
      call MPI_Comm_free(comm, ierr)
    end if
    call has_size(new, nprocs - 1, 'range_incl')
    call MPI_Group_free(one, ierr)
    call MPI_Group_free(world, ierr)
  end subroutine

  subroutine everybody()
    integer :: i, request, comm, pair
    integer, dimension(nprocs) :: counts, out_at, in_at, types, out, in
    integer :: both(2 * nprocs)

    counts = 1
    out_at = [(4 * i, i = 0, nprocs - 1)]
    in_at = [(4 * (nprocs - 1 - i), i = 0, nprocs - 1)]
    types = MPI_INTEGER
    out = [(100 * rank + i, i = 1, nprocs)]
    in = -1
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Alltoallw(out, counts, out_at, types, in, counts, in_at, types, comm, ierr)
    do i = 1, nprocs
      call check(in(nprocs + 1 - i) == 100 * (i - 1) + rank + 1, 'alltoallw')
    end do
    in = -1
    call MPI_Ialltoallw(out, counts, out_at, types, in, counts, out_at, types, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(in == [(100 * i + rank + 1, i = 0, nprocs - 1)]), 'ialltoallw')
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierr)
    call MPI_Type_commit(pair, ierr)
    types = pair
    out_at = 2 * out_at
    both = [(10 * rank + (i + 1) / 2, i = 1, 2 * nprocs)]
    call MPI_Alltoallw(MPI_IN_PLACE, counts, out_at, types, both, counts, out_at, types, comm, ierr)
    call check(all(both == [(10 * (i / 2) + rank + 1, i = 0, 2 * nprocs - 1)]), 'in place')
    call MPI_Type_free(pair, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine no_file()
    integer :: file, class, i, length

    ! MPICH alone makes an integer of whatever was on its stack
    call get_environment_variable('LD_PRELOAD', length=length)
    if (length == 0) return
    do i = 1, 3
      call MPI_File_open(MPI_COMM_SELF, '/nonexistent/file', MPI_MODE_RDONLY, MPI_INFO_NULL, &
        file, ierr)
      call MPI_Error_class(ierr, class, length)
      call check(class == MPI_ERR_NO_SUCH_FILE, 'error of a file that is not there')
    end do
  end subroutine

  subroutine parametrised()
    integer :: first, second, i, n, j, status(MPI_STATUS_SIZE)
    integer, parameter :: wide = selected_real_kind(15, 100), long = selected_int_kind(15)
    real(kind=wide) :: x, y
    integer(kind=long) :: k, l

    call MPI_Type_create_f90_real(15, 100, first, ierr)
    call MPI_Type_create_f90_integer(15, j, ierr)
    do i = 1, 10
      call MPI_Type_create_f90_real(15, 100, second, ierr)
      call check(first == second, 'type of real as before')
      call MPI_Type_size(first, n, ierr)
      call check(n == 8, 'size of real')
      x = rank + i / 3.0_wide
      call MPI_Sendrecv(x, 1, first, mod(rank + 1, nprocs), 1, y, 1, second, &
        mod(rank + nprocs - 1, nprocs), 1, MPI_COMM_WORLD, status, ierr)
      call check(y == mod(rank + nprocs - 1, nprocs) + i / 3.0_wide, 'real that came')
      k = rank + 10_long ** 14
      call MPI_Allreduce(k, l, 1, j, MPI_MAX, MPI_COMM_WORLD, ierr)
      call check(l == nprocs - 1 + 10_long ** 14, 'greatest integer')
    end do
  end subroutine
end program
